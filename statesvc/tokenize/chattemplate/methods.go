package chattemplate

import (
	"strings"
)

// isMethod tells the methods that templates may call.
func isMethod(name string) bool {
	switch name {
	case "strip", "lstrip", "rstrip", "split", "startswith", "endswith", "replace", "upper", "lower",
		"items", "keys", "values", "get":
		return true
	}
	return false
}

// isPythonMethod reports whether Python's strings, lists or mappings have an attribute
// of that name, which would hide a member of a mapping. The loop variable has an index
// of its own.
func isPythonMethod(name string) bool {
	switch name {
	case "copy", "clear", "pop", "popitem", "update", "setdefault", "fromkeys", "sort", "reverse", "insert", "extend",
		"remove", "append", "count", "format", "join", "find", "title", "capitalize", "splitlines":
		return true
	}
	return isMethod(name)
}

func (r *renderer) method(e *methodCall, s *scope) (Value, error) {
	of, err := r.eval(e.of, s)
	if err != nil {
		return nil, err
	}
	args, err := r.all(e.args, s)
	if err != nil {
		return nil, err
	}
	switch of := of.(type) {
	case string:
		if err := r.step(len(of)); err != nil {
			return nil, err
		}
		return r.stringMethod(of, e.method, args)
	case *Dict:
		return r.dictMethod(of, e.method, args)
	}
	return nil, typeError("%s has no method %s for these values", kindOf(of), e.method)
}

func (r *renderer) dictMethod(d *Dict, method string, args []Value) (Value, error) {
	if method == "get" && (len(args) == 1 || len(args) == 2) {
		key, ok := args[0].(string)
		if !ok {
			return nil, unsupported("%s as a key", kindOf(args[0]))
		}
		if v, ok := d.Get(key); ok {
			return v, nil
		}
		if len(args) == 2 {
			return args[1], nil
		}
		return nil, nil
	}
	if len(args) > 0 {
		return nil, typeError("%s of a mapping takes no such values", method)
	}
	switch method {
	case "items":
		return r.pairs(d)
	case "keys":
		items, err := r.iterate(d)
		return &List{items}, err
	case "values":
		if err := r.charge(16 * d.Len()); err != nil {
			return nil, err
		}
		l := &List{}
		for _, k := range d.keys {
			l.Items = append(l.Items, d.values[k])
		}
		return l, nil
	}
	return nil, typeError("a mapping has no method %s", method)
}

// pairs lists keys with their values.
func (r *renderer) pairs(d *Dict) (Value, error) {
	if err := r.charge(80 * d.Len()); err != nil {
		return nil, err
	}
	l := &List{}
	for _, k := range d.keys {
		l.Items = append(l.Items, &List{[]Value{k, d.values[k]}})
	}
	return l, nil
}

func (r *renderer) stringMethod(s, method string, args []Value) (Value, error) {
	texts := make([]string, len(args))
	for i, a := range args {
		t, ok := a.(string)
		if !ok {
			return nil, unsupported("%s for %s of a string", kindOf(a), method)
		}
		texts[i] = t
	}
	switch {
	case len(texts) <= 1 && strings.HasSuffix(method, "strip"):
		return strip(s, method, texts), nil
	case method == "startswith" && len(texts) == 1:
		return strings.HasPrefix(s, texts[0]), nil
	case method == "endswith" && len(texts) == 1:
		return strings.HasSuffix(s, texts[0]), nil
	case method == "split" && len(texts) == 1 && texts[0] != "":
		return r.split(s, texts[0])
	case method == "replace" && len(texts) == 2:
		return r.replace(s, texts[0], texts[1])
	case (method == "upper" || method == "lower") && len(texts) == 0:
		return r.changeCase(s, method)
	}
	return nil, unsupported("%s of a string with %d values", method, len(args))
}

// strip takes characters off the ends: white space, or those of the value.
func strip(s, method string, chars []string) string {
	off := isSpace
	if len(chars) == 1 {
		off = func(r rune) bool { return strings.ContainsRune(chars[0], r) }
	}
	if method != "rstrip" {
		s = strings.TrimLeftFunc(s, off)
	}
	if method != "lstrip" {
		s = strings.TrimRightFunc(s, off)
	}
	return s
}

func (r *renderer) split(s, at string) (Value, error) {
	if err := r.charge(32 * (1 + strings.Count(s, at))); err != nil {
		return nil, err
	}
	l := &List{}
	for p := range strings.SplitSeq(s, at) {
		l.Items = append(l.Items, p)
	}
	return l, nil
}

func (r *renderer) replace(s, old, by string) (Value, error) {
	if old == "" {
		return nil, unsupported("replacing nothing")
	}
	if err := r.charge(len(s) + strings.Count(s, old)*max(len(by)-len(old), 0)); err != nil {
		return nil, err
	}
	return strings.ReplaceAll(s, old, by), nil
}

// changeCase does ASCII: elsewhere Python and Go differ.
func (r *renderer) changeCase(s, to string) (Value, error) {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return nil, unsupported("%s of text beyond ASCII", to)
		}
	}
	if err := r.charge(len(s)); err != nil {
		return nil, err
	}
	if to == "upper" {
		return strings.ToUpper(s), nil
	}
	return strings.ToLower(s), nil
}
