package chattemplate

// generator is what map gives: items that can be gone through once and have no length.
type generator struct {
	items []Value
	used  bool
}

// isMapped tells the filters that map may use.
func isMapped(name string) bool { return isFilter(name) && name != "map" }

// mapped does map: a filter, or the looking up of a member, for each item. Jinja does
// the same only when somebody asks for the items; the order of failures is all that
// differs.
func (r *renderer) mapped(v Value, args []Value, named *Dict) (Value, error) {
	each, err := r.eachMapped(args, named)
	if err != nil {
		return nil, err
	}
	if !truthy(v) {
		return &generator{}, nil
	}
	items, err := r.iterate(v)
	if err != nil {
		return nil, err
	}
	if err := r.charge(16 * len(items)); err != nil {
		return nil, err
	}
	out := make([]Value, len(items))
	for i, item := range items {
		if err := r.step(0); err != nil {
			return nil, err
		}
		if out[i], err = each(item); err != nil {
			return nil, err
		}
	}
	return &generator{items: out}, nil
}

// eachMapped gives what map does with an item.
func (r *renderer) eachMapped(args []Value, named *Dict) (func(Value) (Value, error), error) {
	if _, ok := named.Get("attribute"); ok && len(args) == 0 {
		return mapByAttribute(named)
	}
	if len(args) == 0 {
		return nil, typeError("map without a filter")
	}
	name, ok := args[0].(string)
	if !ok || !isMapped(name) {
		return nil, unsupported("map by this filter")
	}
	return func(item Value) (Value, error) { return r.apply(name, item, args[1:], named) }, nil
}

func mapByAttribute(named *Dict) (func(Value) (Value, error), error) {
	given, err := params("map", nil, named, "attribute", "default")
	if err != nil {
		return nil, err
	}
	get, err := getter(given["attribute"])
	if err != nil {
		return nil, err
	}
	return func(item Value) (Value, error) {
		v, err := get(item)
		if _, missing := v.(undefined); missing && given["default"] != nil {
			return given["default"], err
		}
		return v, err
	}, nil
}
