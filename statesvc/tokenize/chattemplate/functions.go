package chattemplate

import "strings"

// isFunction tells the functions that templates may call.
func isFunction(name string) bool {
	switch name {
	case "namespace", "range", "raise_exception", "dict", "strftime_now":
		return true
	}
	return false
}

// isTest tells the tests that templates may use.
func isTest(name string) bool {
	switch name {
	case "defined", "undefined", "none", "string", "mapping", "iterable", "sequence", "number", "integer", "float",
		"boolean", "true", "false", "eq", "equalto", "in":
		return true
	}
	return false
}

// maxRange is the longest range that Jinja's sandbox allows.
const maxRange = 100_000

func (r *renderer) call(e *call, s *scope) (Value, error) {
	args, err := r.all(e.args, s)
	if err != nil {
		return nil, err
	}
	named, err := r.namedArgs(e.named, s)
	if err != nil {
		return nil, err
	}
	if v := r.lookup(e.function, s); v != function(e.function) {
		return nil, typeError("%s is %s, not a function", e.function, kindOf(v))
	}
	if m, ok := r.macros[e.function]; ok {
		return r.macro(m, args, named)
	}
	switch e.function {
	case "namespace", "dict":
		if len(args) > 0 {
			return nil, unsupported("%s() with a value without a name", e.function)
		}
		if err := r.charge(dictBytes(0)); err != nil {
			return nil, err
		}
		if e.function == "namespace" {
			return namespace{named}, nil
		}
		return named, nil
	case "raise_exception":
		if len(args) == 1 {
			if message, err := text(args[0]); err == nil {
				return nil, &RaisedError{message}
			}
		}
		return nil, &RaisedError{}
	case "range":
		return r.numbers(args)
	}
	return nil, unsupported("a call of %s", e.function)
}

func (r *renderer) numbers(args []Value) (Value, error) {
	ends := [3]int64{0, 0, 1}
	for i, v := range args {
		n, ok := v.(int64)
		if !ok || i == 3 {
			return nil, typeError("range() of %s", kindOf(v))
		}
		if len(args) == 1 {
			i = 1
		}
		ends[i] = n
	}
	start, stop, step := ends[0], ends[1], ends[2]
	const far = 1 << 40
	if max(start, stop, step) > far || min(start, stop, step) < -far {
		return nil, unsupported("range() with these ends")
	}
	var n int64
	switch {
	case step > 0:
		n = max(stop-start+step-1, 0) / step
	case step < 0:
		n = max(start-stop-step-1, 0) / -step
	default:
		return nil, typeError("range() with a step of 0")
	}
	if n > maxRange {
		return nil, typeError("range() of %d numbers", n)
	}
	if err := r.charge(24 * int(n)); err != nil {
		return nil, err
	}
	items := make([]Value, n)
	for i := range items {
		items[i] = start + int64(i)*step
	}
	return &List{items}, nil
}

func (r *renderer) macro(m *macroNode, args []Value, named *Dict) (Value, error) {
	if r.calls++; r.calls > maxCalls {
		return nil, ErrTooMuch
	}
	defer func() { r.calls-- }()
	if len(args) > len(m.params) {
		return nil, typeError("macro %s takes %d values", m.name, len(m.params))
	}
	s := &scope{parent: r.root}
	used := 0
	for i, p := range m.params {
		var v Value = undefined{}
		if given, ok := named.Get(p); ok {
			if i < len(args) {
				return nil, typeError("macro %s gets %s twice", m.name, p)
			}
			v = given
			used++
		} else if i < len(args) {
			v = args[i]
		} else if m.defaults[i] != nil {
			var err error
			if v, err = r.eval(m.defaults[i], s); err != nil {
				return nil, err
			}
		}
		s.set(p, v)
	}
	if used < named.Len() {
		return nil, typeError("macro %s gets a value that it does not take", m.name)
	}
	var out strings.Builder
	err := r.run(m.body, s, &out)
	return out.String(), err
}

func (r *renderer) test(e *test, s *scope) (Value, error) {
	v, err := r.eval(e.of, s)
	if err != nil {
		return nil, err
	}
	var arg Value
	if e.arg != nil {
		if arg, err = r.eval(e.arg, s); err != nil {
			return nil, err
		}
	}
	is := false
	switch e.name {
	case "eq", "equalto":
		is, err = r.equal(v, arg, 0)
	case "in":
		is, err = r.contains(arg, v)
	default:
		is, err = isKind(v, e.name)
	}
	return is != e.negated, err
}

// isKind answers the tests for kinds of values.
func isKind(v Value, kind string) (bool, error) {
	if _, ok := v.(Big); ok {
		return false, unsupported("a test of an integer beyond 64 bits")
	}
	_, isUndefined := v.(undefined)
	_, isString := v.(string)
	_, isList := v.(*List)
	_, isDict := v.(*Dict)
	b, isBool := v.(bool)
	_, isInt := v.(int64)
	_, isFloat := v.(float64)
	switch kind {
	case "defined":
		return !isUndefined, nil
	case "undefined":
		return isUndefined, nil
	case "none":
		return v == nil, nil
	case "string":
		return isString, nil
	case "mapping":
		return isDict, nil
	case "iterable", "sequence": // undefined can be gone through and has a length
		_, isGenerator := v.(*generator)
		return isString || isList || isDict || isUndefined || isGenerator && kind == "iterable", nil
	case "number":
		return isBool || isInt || isFloat, nil
	case "integer":
		return isInt, nil
	case "float":
		return isFloat, nil
	case "boolean":
		return isBool, nil
	case "true":
		return isBool && b, nil
	}
	return isBool && !b, nil
}
