package chattemplate

import (
	"math"
	"strconv"
	"strings"
)

// tojson writes JSON as Python's json.dumps does without ASCII escapes.
func (r *renderer) tojson(v Value, args []Value, named *Dict) (Value, error) {
	w := &jsonWriter{r: r, item: ", ", key: ": "}
	if len(args) > 0 {
		return nil, unsupported("tojson with values that have no name")
	}
	for _, k := range named.Keys() {
		a, _ := named.Get(k)
		switch {
		case k == "ensure_ascii" && !truthy(a), k == "sort_keys" && !truthy(a), k == "separators" && a == nil, k == "indent" && a == nil:
		case k == "indent":
			n, ok := a.(int64)
			if !ok || n < 1 || n > 16 {
				return nil, unsupported("tojson with this indent")
			}
			w.indent, w.item = strings.Repeat(" ", int(n)), ","
		default:
			return nil, unsupported("tojson with %s", k)
		}
	}
	if err := w.value(v, 0); err != nil {
		return nil, err
	}
	return w.out.String(), nil
}

type jsonWriter struct {
	r                 *renderer
	out               strings.Builder
	indent, item, key string
}

func (w *jsonWriter) write(s string) error { return w.r.write(&w.out, s) }

func (w *jsonWriter) value(v Value, depth int) error {
	switch v := v.(type) {
	case nil:
		return w.write("null")
	case bool:
		return w.write(strconv.FormatBool(v))
	case float64:
		if math.IsInf(v, 0) || math.IsNaN(v) {
			return unsupported("a number without a value")
		}
		return w.write(pythonFloat(v))
	case int64, Big:
		t, err := text(v)
		if err != nil {
			return err
		}
		return w.write(t)
	case string:
		return w.quote(v)
	case *List:
		return w.sequence('[', ']', len(v.Items), depth, func(i int) error { return w.value(v.Items[i], depth+1) })
	case *Dict:
		return w.sequence('{', '}', v.Len(), depth, func(i int) error {
			if err := w.quote(v.keys[i]); err != nil {
				return err
			}
			if err := w.write(w.key); err != nil {
				return err
			}
			return w.value(v.values[v.keys[i]], depth+1)
		})
	}
	return typeError("%s as JSON", kindOf(v))
}

func (w *jsonWriter) sequence(begin, end byte, n, depth int, each func(int) error) error {
	if depth > maxNesting {
		return ErrTooMuch
	}
	w.out.WriteByte(begin)
	for i := range n {
		if i > 0 {
			w.out.WriteString(w.item)
		}
		if err := w.line(depth + 1); err != nil {
			return err
		}
		if err := each(i); err != nil {
			return err
		}
	}
	if n > 0 {
		if err := w.line(depth); err != nil {
			return err
		}
	}
	w.out.WriteByte(end)
	return w.r.charge(2 + 2*n)
}

func (w *jsonWriter) line(depth int) error {
	if w.indent == "" {
		return nil
	}
	return w.write("\n" + strings.Repeat(w.indent, depth))
}

// quote escapes quotes, backslashes and control characters, nothing else.
func (w *jsonWriter) quote(s string) error {
	const hex = "0123456789abcdef"
	if err := w.r.charge(2 + len(s)); err != nil {
		return err
	}
	w.out.WriteByte('"')
	start := 0
	for i := range len(s) {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		w.out.WriteString(s[start:i])
		start = i + 1
		if short := strings.IndexByte("\"\\\n\r\t\b\f", c); short >= 0 {
			w.out.WriteByte('\\')
			w.out.WriteByte(`"\nrtbf`[short])
			continue
		}
		w.out.WriteString(`\u00`)
		w.out.WriteByte(hex[c>>4])
		w.out.WriteByte(hex[c&15])
	}
	w.out.WriteString(s[start:])
	w.out.WriteByte('"')
	return nil
}
