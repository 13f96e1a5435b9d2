package chattemplate

import (
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

// FromJSON makes a value of JSON, which must be valid. It refuses what nests deeper
// than 64 and numbers beyond a float.
func FromJSON(raw gjson.Result) (Value, error) { return fromJSON(raw, 0) }

func fromJSON(raw gjson.Result, depth int) (Value, error) {
	if depth > maxNesting {
		return nil, unsupported("JSON that nests deeper than %d", maxNesting)
	}
	switch raw.Type {
	case gjson.Null:
		return nil, nil
	case gjson.True, gjson.False:
		return raw.Type == gjson.True, nil
	case gjson.String:
		return raw.Str, nil
	case gjson.Number:
		return numberFromJSON(raw.Raw)
	case gjson.JSON:
	}
	var err error
	if raw.IsArray() {
		l := &List{}
		raw.ForEach(func(_, item gjson.Result) bool {
			var v Value
			v, err = fromJSON(item, depth+1)
			l.Items = append(l.Items, v)
			return err == nil
		})
		return l, err
	}
	d := NewDict()
	raw.ForEach(func(key, item gjson.Result) bool {
		var v Value
		v, err = fromJSON(item, depth+1)
		d.Set(key.Str, v)
		return err == nil
	})
	return d, err
}

// numberFromJSON tells whole numbers from others as Python does: by how they are written.
func numberFromJSON(raw string) (Value, error) {
	if strings.ContainsAny(raw, ".eE") {
		f, err := strconv.ParseFloat(raw, 64)
		if err != nil {
			return nil, unsupported("the number %.30s", raw)
		}
		return f, nil
	}
	if n, err := strconv.ParseInt(raw, 10, 64); err == nil {
		return n, nil
	}
	return Big(raw), nil
}
