package chat

import "github.com/tidwall/gjson"

// shortNumber is how many digits a number has at most that valueOf reads itself:
// a float64 holds each such number exactly.
const shortNumber = 15

// valueOf reads one value that the scanner found well-formed. It is gjson.Parse,
// but for the texts that requests have most, which it reads with a fraction of
// the code: a filter runs cold, and what it runs is most of what it costs.
func valueOf(raw string) gjson.Result {
	switch {
	case raw == "true":
		return gjson.Result{Type: gjson.True, Raw: raw}
	case raw == "false":
		return gjson.Result{Type: gjson.False, Raw: raw}
	case raw == "null":
		return gjson.Result{Type: gjson.Null, Raw: raw}
	case raw != "" && raw[0] == '"' && plain(raw, 1) == len(raw)-1:
		return gjson.Result{Type: gjson.String, Raw: raw, Str: raw[1 : len(raw)-1]}
	}
	if n, ok := shortInteger(raw); ok {
		return gjson.Result{Type: gjson.Number, Raw: raw, Num: float64(n)}
	}
	return gjson.Parse(raw)
}

// shortInteger reads digits, of which there are not many.
func shortInteger(raw string) (n uint64, ok bool) {
	if raw == "" || len(raw) > shortNumber {
		return 0, false
	}
	for _, c := range []byte(raw) {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + uint64(c-'0')
	}
	return n, true
}
