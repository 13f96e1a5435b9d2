package chattemplate

import "strings"

func (r *renderer) eval(e expr, s *scope) (Value, error) {
	if err := r.step(0); err != nil {
		return nil, err
	}
	switch e := e.(type) {
	case *literal:
		return e.value, nil
	case *name:
		return r.lookup(e.name, s), r.step(4 * len(s.names))
	case *attr:
		return r.attr(e, s)
	case *item:
		return r.item(e, s)
	case *part:
		return r.part(e, s)
	case *listOf:
		items, err := r.all(e.items, s)
		return &List{items}, err
	case *dictOf:
		return r.dict(e, s)
	case *sum:
		return r.sum(e, s)
	case *binary:
		return r.binary(e, s)
	case *unary:
		return r.unary(e, s)
	case *conditional:
		return r.conditional(e, s)
	case *test:
		return r.test(e, s)
	case *filter:
		return r.filter(e, s)
	case *call:
		return r.call(e, s)
	case *methodCall:
		return r.method(e, s)
	}
	return nil, unsupported("an expression of type %T", e)
}

func (r *renderer) attr(e *attr, s *scope) (Value, error) {
	of, err := r.eval(e.of, s)
	if err != nil {
		return nil, err
	}
	return member(of, e.name)
}

// lookup gives a name's value; the functions are names too.
func (r *renderer) lookup(name string, s *scope) Value {
	if v, ok := s.get(name); ok {
		return v
	}
	if isFunction(name) {
		return function(name)
	}
	return undefined{}
}

func (r *renderer) all(es []expr, s *scope) ([]Value, error) {
	if err := r.charge(16 * len(es)); err != nil {
		return nil, err
	}
	values := make([]Value, len(es))
	for i, e := range es {
		v, err := r.eval(e, s)
		if err != nil {
			return nil, err
		}
		values[i] = v
	}
	return values, nil
}

func (r *renderer) dict(e *dictOf, s *scope) (Value, error) {
	if err := r.charge(dictBytes(len(e.keys))); err != nil {
		return nil, err
	}
	d := NewDict()
	for i := range e.keys {
		key, err := r.eval(e.keys[i], s)
		if err != nil {
			return nil, err
		}
		k, ok := key.(string)
		if !ok {
			return nil, unsupported("%s as a key", kindOf(key))
		}
		v, err := r.eval(e.values[i], s)
		if err != nil {
			return nil, err
		}
		d.Set(k, v)
	}
	return d, nil
}

// member is an attribute. Templates read members of mappings that way.
func member(of Value, name string) (Value, error) {
	switch of := of.(type) {
	case *Dict:
		if v, ok := of.Get(name); ok {
			return v, nil
		}
		return undefined{}, nil
	case namespace:
		if v, ok := of.Get(name); ok {
			return v, nil
		}
		return undefined{}, nil
	case *loopState:
		return of.member(name)
	case undefined:
		return nil, typeError("%s of something undefined", name)
	}
	return undefined{}, nil
}

// named is an item by its name.
func named(of Value, key string) (Value, error) {
	v, err := member(of, key)
	if _, missing := v.(undefined); missing && isPythonMethod(key) {
		return nil, unsupported("the method %s as a value", key)
	}
	return v, err
}

func (r *renderer) item(e *item, s *scope) (Value, error) {
	of, err := r.eval(e.of, s)
	if err != nil {
		return nil, err
	}
	key, err := r.eval(e.key, s)
	if err != nil {
		return nil, err
	}
	if k, ok := key.(string); ok {
		return named(of, k)
	}
	i, ok := key.(int64)
	if !ok {
		return nil, unsupported("%s as an index", kindOf(key))
	}
	switch of := of.(type) {
	case *List:
		if i < 0 {
			i += int64(len(of.Items))
		}
		if i < 0 || i >= int64(len(of.Items)) {
			return undefined{}, nil
		}
		return of.Items[i], nil
	case string:
		return r.character(of, i)
	case undefined:
		return nil, typeError("an item of something undefined")
	}
	return undefined{}, nil
}

func (r *renderer) character(s string, i int64) (Value, error) {
	if err := r.charge(4 * len(s)); err != nil {
		return nil, err
	}
	runes := []rune(s)
	if i < 0 {
		i += int64(len(runes))
	}
	if i < 0 || i >= int64(len(runes)) {
		return undefined{}, nil
	}
	return string(runes[i]), nil
}

// bound evaluates one end of a slice as Python clips it: negative from the end.
func (r *renderer) bound(e expr, s *scope, absent, low, high, length int64) (int64, error) {
	if e == nil {
		return absent, nil
	}
	v, err := r.eval(e, s)
	if err != nil {
		return 0, err
	}
	i, ok := v.(int64)
	if !ok {
		return 0, unsupported("%s as an end of a slice", kindOf(v))
	}
	if i < 0 {
		i += length
	}
	return min(max(i, low), high), nil
}

func (r *renderer) part(e *part, s *scope) (Value, error) {
	of, err := r.eval(e.of, s)
	if err != nil {
		return nil, err
	}
	step := int64(1)
	if e.step != nil {
		v, err := r.eval(e.step, s)
		if err != nil {
			return nil, err
		}
		if step, _ = v.(int64); step != 1 && step != -1 {
			return nil, unsupported("a slice with a step other than 1 and -1")
		}
	}
	switch of := of.(type) {
	case *List:
		items, err := cut(r, e, s, of.Items, step, 16)
		return &List{items}, err
	case string:
		if err := r.charge(4 * len(of)); err != nil {
			return nil, err
		}
		runes, err := cut(r, e, s, []rune(of), step, 4)
		return string(runes), err
	}
	return nil, typeError("a slice of %s", kindOf(of))
}

// cut gives the items of a slice, of the given size each.
func cut[T any](r *renderer, e *part, s *scope, items []T, step int64, size int) ([]T, error) {
	n := int64(len(items))
	absentStart, absentStop, low, high := int64(0), n, int64(0), n
	if step < 0 {
		absentStart, absentStop, low, high = n-1, -1, -1, n-1
	}
	start, err := r.bound(e.start, s, absentStart, low, high, n)
	if err != nil {
		return nil, err
	}
	stop, err := r.bound(e.stop, s, absentStop, low, high, n)
	if err != nil {
		return nil, err
	}
	if err := r.charge(size * int(max((stop-start)*step, 0))); err != nil {
		return nil, err
	}
	var out []T
	for i := start; (stop-i)*step > 0; i += step {
		out = append(out, items[i])
	}
	return out, nil
}

// sum concatenates strings in one go; other chains are added from left to right.
func (r *renderer) sum(e *sum, s *scope) (Value, error) {
	values, err := r.all(e.terms, s)
	if err != nil {
		return nil, err
	}
	parts, total := make([]string, len(values)), 0
	for i, v := range values {
		t, ok := v.(string)
		if !ok {
			return r.addAll(values)
		}
		parts[i] = t
		total += len(t)
	}
	if err := r.charge(total); err != nil {
		return nil, err
	}
	return strings.Join(parts, ""), nil
}

func (r *renderer) addAll(values []Value) (Value, error) {
	left := values[0]
	var err error
	for _, right := range values[1:] {
		if left, err = r.arithmetic("+", left, right); err != nil {
			return nil, err
		}
	}
	return left, nil
}

func (r *renderer) conditional(e *conditional, s *scope) (Value, error) {
	c, err := r.eval(e.condition, s)
	switch {
	case err != nil:
		return nil, err
	case truthy(c):
		return r.eval(e.then, s)
	case e.otherwise == nil:
		return undefined{}, nil
	}
	return r.eval(e.otherwise, s)
}
