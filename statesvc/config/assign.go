package config

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"sort"
	"strings"
)

// assign copies a YAML tree into a settings struct. It goes on after a mistake,
// so that one run names all of them; a value of the wrong type leaves the
// default in place. into points to the struct.
func assign(tree map[string]any, into any, p *Problems) {
	assignStruct(tree, reflect.ValueOf(into).Elem(), "", p)
}

func assignStruct(tree map[string]any, dst reflect.Value, path string, p *Problems) {
	names := make([]string, 0, dst.NumField())
	for i := range dst.NumField() {
		name := dst.Type().Field(i).Tag.Get("yaml")
		if name == "-" {
			continue
		}
		names = append(names, name)
		if value, ok := tree[name]; ok && value != nil {
			assignValue(value, dst.Field(i), join(path, name), p)
		}
	}
	unknown := make([]string, 0)
	for key := range tree {
		if !slices.Contains(names, key) {
			unknown = append(unknown, key)
		}
	}
	sort.Strings(unknown)
	for _, key := range unknown {
		p.add(join(path, key), "unknown key; %s", suggest(key, names))
	}
}

func assignValue(value any, dst reflect.Value, path string, p *Problems) {
	switch dst.Kind() {
	case reflect.Struct:
		tree, ok := value.(map[string]any)
		if !ok {
			p.add(path, "want a mapping, got %s", kindOf(value))
			return
		}
		assignStruct(tree, dst, path, p)
	case reflect.Slice:
		assignSlice(value, dst, path, p)
	case reflect.Map:
		assignMap(value, dst, path, p)
	case reflect.Pointer:
		dst.Set(reflect.New(dst.Type().Elem()))
		assignValue(value, dst.Elem(), path, p)
	case reflect.String:
		s, ok := value.(string)
		if !ok {
			p.add(path, "want a text, got %s; put quotes around it", kindOf(value))
			return
		}
		dst.SetString(s)
	case reflect.Bool:
		b, ok := value.(bool)
		if !ok {
			p.add(path, "want true or false, got %s", kindOf(value))
			return
		}
		dst.SetBool(b)
	default:
		assignInteger(value, dst, path, p)
	}
}

func assignSlice(value any, dst reflect.Value, path string, p *Problems) {
	list, ok := value.([]any)
	if !ok {
		p.add(path, "want a list, got %s", kindOf(value))
		return
	}
	dst.Set(reflect.MakeSlice(dst.Type(), len(list), len(list)))
	for i, item := range list {
		at := fmt.Sprintf("%s[%d]", path, i)
		if item == nil {
			p.add(at, "empty entry; fill it in or remove it")
			continue
		}
		assignValue(item, dst.Index(i), at, p)
	}
}

// assignMap fills a map of structs by name. An entry without a value has every
// default.
func assignMap(value any, dst reflect.Value, path string, p *Problems) {
	tree, ok := value.(map[string]any)
	if !ok {
		p.add(path, "want a mapping, got %s", kindOf(value))
		return
	}
	dst.Set(reflect.MakeMapWithSize(dst.Type(), len(tree)))
	for _, name := range slices.Sorted(maps.Keys(tree)) {
		entry := reflect.New(dst.Type().Elem()).Elem()
		if tree[name] != nil {
			assignValue(tree[name], entry, join(path, name), p)
		}
		dst.SetMapIndex(reflect.ValueOf(name), entry)
	}
}

func assignInteger(value any, dst reflect.Value, path string, p *Problems) {
	var n int64
	switch v := value.(type) {
	case uint64:
		if v > math.MaxInt64 {
			p.add(path, "%d is too large", v)
			return
		}
		n = int64(v)
	case int64:
		n = v
	case int:
		n = int64(v)
	default:
		p.add(path, "want a whole number, got %s", kindOf(value))
		return
	}
	if dst.OverflowInt(n) {
		p.add(path, "%d is too large", n)
		return
	}
	dst.SetInt(n)
}

func kindOf(value any) string {
	switch v := value.(type) {
	case map[string]any:
		return "a mapping"
	case []any:
		return "a list"
	case string:
		return fmt.Sprintf("the text %q", v)
	default:
		return fmt.Sprint(v)
	}
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// suggest names the known key that the unknown one was probably meant to be.
func suggest(key string, known []string) string {
	best, distance := "", 3
	for _, name := range known {
		if strings.HasPrefix(name, key+"_") {
			return fmt.Sprintf("did you mean %s?", name)
		}
		if d := editDistance(strings.ToLower(key), name); d < distance {
			best, distance = name, d
		}
	}
	if best != "" {
		return fmt.Sprintf("did you mean %s?", best)
	}
	return "known here: " + strings.Join(known, ", ")
}

// editDistance is the number of inserted, removed or replaced bytes between a
// and b.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
