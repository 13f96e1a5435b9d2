package chattemplate

import (
	"slices"
	"strings"
)

// isFilter tells the filters that templates may use.
func isFilter(name string) bool {
	switch name {
	case "trim", "tojson", "length", "count", "first", "last", "default", "d", "upper", "lower", "string", "join",
		"list", "items", "safe", "replace", "reverse", "sort", "dictsort", "int", "map":
		return true
	}
	return false
}

func (r *renderer) filter(e *filter, s *scope) (Value, error) {
	v, err := r.eval(e.of, s)
	if err != nil {
		return nil, err
	}
	args, err := r.all(e.args, s)
	if err != nil {
		return nil, err
	}
	named, err := r.namedArgs(e.named, s)
	if err != nil {
		return nil, err
	}
	return r.apply(e.name, v, args, named)
}

// apply does a filter by its name.
func (r *renderer) apply(name string, v Value, args []Value, named *Dict) (Value, error) {
	switch name {
	case "default", "d":
		return byDefault(v, args, named)
	case "tojson":
		return r.tojson(v, args, named)
	case "sort":
		return r.sort(v, args, named)
	case "dictsort":
		return r.dictsort(v, args, named)
	case "int":
		return r.whole(v, args, named)
	case "map":
		return r.mapped(v, args, named)
	}
	if named.Len() > 0 {
		return nil, unsupported("named arguments of %s", name)
	}
	switch name {
	case "join":
		return r.join(v, args)
	case "replace":
		return r.stringFilter(v, name, args)
	case "trim":
		return r.stringFilter(v, "strip", args)
	}
	if len(args) > 0 {
		return nil, unsupported("arguments of %s", name)
	}
	return r.plainFilter(v, name)
}

// params puts a filter's values in the order of its parameters. One that was not given is
// missing from the result.
func params(filter string, args []Value, named *Dict, names ...string) (map[string]Value, error) {
	if len(args) > len(names) {
		return nil, typeError("%s takes %d values", filter, len(names))
	}
	given := make(map[string]Value, len(names))
	for i, a := range args {
		given[names[i]] = a
	}
	for _, k := range named.Keys() {
		if _, twice := given[k]; twice || !slices.Contains(names, k) {
			return nil, typeError("%s takes no further %s", filter, k)
		}
		given[k], _ = named.Get(k)
	}
	return given, nil
}

// namedArgs gives the values that have names. A mapping of them is what namespace and dict
// make, so it counts like one.
func (r *renderer) namedArgs(named []namedArg, s *scope) (*Dict, error) {
	d := NewDict()
	if len(named) > 0 {
		if err := r.charge(dictBytes(len(named))); err != nil {
			return nil, err
		}
	}
	for _, n := range named {
		v, err := r.eval(n.value, s)
		if err != nil {
			return nil, err
		}
		d.Set(n.name, v)
	}
	return d, nil
}

// stringFilter is a method of the value's text.
func (r *renderer) stringFilter(v Value, method string, args []Value) (Value, error) {
	t, err := text(v)
	if err != nil {
		return nil, err
	}
	if err := r.step(len(t)); err != nil {
		return nil, err
	}
	return r.stringMethod(t, method, args)
}

// plainFilter does the filters that take no arguments.
func (r *renderer) plainFilter(v Value, name string) (Value, error) {
	switch name {
	case "upper", "lower":
		return r.stringFilter(v, name, nil)
	case "string", "safe":
		t, err := text(v)
		return t, err
	case "length", "count":
		return r.length(v)
	case "items":
		switch v := v.(type) {
		case *Dict:
			return r.pairs(v)
		case undefined:
			return &List{}, nil
		}
		return nil, typeError("items of %s", kindOf(v))
	}
	return r.itemFilter(v, name)
}

// itemFilter does first, last, list and reverse.
func (r *renderer) itemFilter(v Value, name string) (Value, error) {
	items, err := r.iterate(v)
	if err != nil {
		return nil, err
	}
	_, isDict := v.(*Dict)
	_, isList := v.(*List)
	_, isGenerator := v.(*generator)
	switch {
	case name == "last" && isGenerator:
		return nil, typeError("%s of %s", name, kindOf(v))
	case name == "last" && isDict, name == "reverse" && !isList && !isGenerator:
		return nil, unsupported("%s of %s", name, kindOf(v))
	case name == "first" && len(items) > 0:
		return items[0], nil
	case name == "last" && len(items) > 0:
		return items[len(items)-1], nil
	case name == "first" || name == "last":
		return undefined{}, nil
	}
	if err := r.charge(16 * len(items)); err != nil {
		return nil, err
	}
	out := slices.Clone(items)
	if name == "reverse" {
		slices.Reverse(out)
	}
	return &List{out}, nil
}

func (r *renderer) length(v Value) (Value, error) {
	switch v := v.(type) {
	case string:
		n := int64(0)
		for range v {
			n++
		}
		return n, r.step(len(v))
	case *List:
		return int64(len(v.Items)), nil
	case *Dict:
		return int64(v.Len()), nil
	case undefined:
		return int64(0), nil
	}
	return nil, typeError("length of %s", kindOf(v))
}

func byDefault(v Value, args []Value, named *Dict) (Value, error) {
	var otherwise Value = ""
	if len(args) > 0 {
		otherwise = args[0]
	}
	if a, ok := named.Get("default_value"); ok {
		otherwise = a
	}
	falsy := false
	if len(args) > 1 {
		falsy = truthy(args[1])
	}
	if a, ok := named.Get("boolean"); ok {
		falsy = truthy(a)
	}
	if _, isUndefined := v.(undefined); isUndefined || falsy && !truthy(v) {
		return otherwise, nil
	}
	return v, nil
}

func (r *renderer) join(v Value, args []Value) (Value, error) {
	items, err := r.iterate(v)
	if err != nil {
		return nil, err
	}
	sep := ""
	if len(args) > 0 {
		if sep, err = text(args[0]); err != nil {
			return nil, err
		}
	}
	if len(args) > 1 {
		return nil, unsupported("join by an attribute")
	}
	parts, total := make([]string, len(items)), 0
	for i, item := range items {
		if parts[i], err = text(item); err != nil {
			return nil, err
		}
		total += len(parts[i]) + len(sep)
		if err := r.step(0); err != nil {
			return nil, err
		}
	}
	if err := r.charge(total); err != nil {
		return nil, err
	}
	return strings.Join(parts, sep), nil
}
