package chattemplate

import (
	"slices"
	"strings"
	"unicode"
)

// sort does Jinja's filter of that name: stable, and without regard to case unless it is
// told to look at it.
func (r *renderer) sort(v Value, args []Value, named *Dict) (Value, error) {
	given, err := params("sort", args, named, "reverse", "case_sensitive", "attribute")
	if err != nil {
		return nil, err
	}
	items, err := r.iterate(v)
	if err != nil {
		return nil, err
	}
	get := func(item Value) (Value, error) { return item, nil }
	if by := given["attribute"]; by != nil {
		if get, err = getter(by); err != nil {
			return nil, err
		}
	}
	return r.sorted(items, get, given)
}

// dictsort lists keys with their values in the order of the keys.
func (r *renderer) dictsort(v Value, args []Value, named *Dict) (Value, error) {
	given, err := params("dictsort", args, named, "case_sensitive", "by", "reverse")
	if err != nil {
		return nil, err
	}
	if by, ok := given["by"]; ok && by != "key" {
		return nil, unsupported("dictsort by something other than the key")
	}
	d, ok := v.(*Dict)
	if !ok {
		return nil, typeError("dictsort of %s", kindOf(v))
	}
	pairs, err := r.pairs(d)
	if err != nil {
		return nil, err
	}
	key := func(pair Value) (Value, error) { return pair.(*List).Items[0], nil }
	return r.sorted(pairs.(*List).Items, key, given)
}

// row is an item with what it is sorted by.
type row struct{ key, item Value }

// sorted gives the items in the order of their keys; equal ones stay in theirs.
func (r *renderer) sorted(items []Value, key func(Value) (Value, error), given map[string]Value) (Value, error) {
	sign := 1
	if v, ok := given["reverse"]; ok {
		if _, isNumber := number(v); !isNumber {
			return nil, typeError("sorting with %s for reverse", kindOf(v))
		}
		if truthy(v) {
			sign = -1
		}
	}
	rows, err := r.keyed(items, key, truthy(given["case_sensitive"]))
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(rows, func(a, b row) (c int) {
		if err == nil {
			c, err = r.order(a.key, b.key)
		}
		return sign * c
	})
	if err != nil {
		return nil, err
	}
	out := make([]Value, len(rows))
	for i := range rows {
		out[i] = rows[i].item
	}
	return &List{out}, nil
}

func (r *renderer) keyed(items []Value, key func(Value) (Value, error), caseSensitive bool) ([]row, error) {
	if err := r.charge(48 * len(items)); err != nil {
		return nil, err
	}
	rows := make([]row, len(items))
	for i, item := range items {
		k, err := key(item)
		if t, ok := k.(string); ok && err == nil && !caseSensitive {
			k, err = r.folded(t)
		}
		if err != nil {
			return nil, err
		}
		rows[i] = row{k, item}
	}
	return rows, nil
}

// order compares keys. Those that are equal need no order, as where Jinja compares them in
// lists.
func (r *renderer) order(a, b Value) (int, error) {
	same, err := r.equal(a, b, 0)
	if same || err != nil {
		return 0, err
	}
	return compare(a, b)
}

// folded is the text in lower case. Characters beyond ASCII are taken where Python and Go
// agree that they have no other: letters that are in lower case or have none, digits and
// punctuation.
func (r *renderer) folded(s string) (string, error) {
	if err := r.charge(len(s)); err != nil {
		return "", err
	}
	for _, c := range s {
		if c >= 0x80 && (unicode.ToLower(c) != c || !unicode.In(c, unicode.L, unicode.M, unicode.N, unicode.P, unicode.S, unicode.Zs)) {
			return "", unsupported("sorting by %q without regard to case", c)
		}
	}
	return strings.ToLower(s), nil
}

// getter looks up a member by the name that a filter was told.
func getter(by Value) (func(Value) (Value, error), error) {
	name, ok := by.(string)
	if !ok || name == "" || strings.ContainsAny(name, ".,") || strings.Trim(name, "0123456789") == "" {
		return nil, unsupported("an attribute that is no plain name")
	}
	return func(of Value) (Value, error) { return named(of, name) }, nil
}
