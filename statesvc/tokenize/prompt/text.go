package prompt

import (
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

// hasLoneSurrogate looks for an escape of half a pair.
func hasLoneSurrogate(body string) bool {
	for i := 0; ; {
		n := strings.Index(body[i:], `\`)
		if n < 0 || i+n+1 >= len(body) {
			return false
		}
		i += n
		high, isUnicode := escape(body, i)
		switch {
		case !isUnicode:
			i += 2
		case high < 0xD800 || high > 0xDFFF:
			i += 6
		default:
			low, ok := escape(body, i+6)
			if high > 0xDBFF || !ok || low < 0xDC00 || low > 0xDFFF {
				return true
			}
			i += 12
		}
	}
}

// escape reads \uXXXX at body[i:].
func escape(body string, i int) (rune, bool) {
	if i+6 > len(body) || body[i] != '\\' || body[i+1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(body[i+2:i+6], 16, 32)
	return rune(n), err == nil
}

// RawText is the prompt's text without a template: what can be counted when nothing
// else can. Payloads in it are left out.
func (p *Prompt) RawText() string {
	var b strings.Builder
	for _, v := range p.text {
		gather(&b, v)
	}
	return b.String()
}

// gather collects the strings of a value. The members named data and url hold
// payloads; a chat's own words are not prompt text.
func gather(b *strings.Builder, v gjson.Result) {
	switch {
	case v.Type == gjson.String:
		if !strings.HasPrefix(v.Str, "data:") {
			b.WriteString(v.Str)
			b.WriteByte('\n')
		}
	case v.IsArray():
		v.ForEach(func(_, item gjson.Result) bool {
			gather(b, item)
			return true
		})
	case v.IsObject():
		v.ForEach(func(key, item gjson.Result) bool {
			switch key.Str {
			case "type", "id", "tool_call_id", "data", "url":
			default:
				gather(b, item)
			}
			return true
		})
	}
}
