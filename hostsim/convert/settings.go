package convert

import (
	"encoding/json"
	"strings"
)

func (c *converter) breaker() {
	b := breaker{Threshold: c.count("--cb-threshold", 3)}
	if secs := c.count("--cb-cool-down-secs", 30); secs != nil {
		b.CoolDownMillis = c.millis("--cb-cool-down-secs", *secs)
	}
	if b != (breaker{}) {
		c.doc.Breaker = &b
	}
}

// millis gives seconds in milliseconds, nil when that is beyond any duration.
func (c *converter) millis(flag string, secs uint64) *uint64 {
	const most = 1 << 53 / 1000
	if secs > most {
		c.refuse(flag, formatCount(secs)+" is out of range", "fewer seconds")
		return nil
	}
	secs *= 1000
	return &secs
}

// keys takes over the headers and idle times of keys.
func (c *converter) keys() {
	c.doc.Session = c.keyHeader("--session-id-header", "x-session-id", "--session-idle-secs")
	c.doc.RoutingKey = c.keyHeader("--routing-key-header", "x-sgl-routing-key", "--sticky-idle-secs")
}

func (c *converter) keyHeader(header, def, idle string) *keyHeader {
	h := keyHeader{IdleSecs: c.count(idle, 600)}
	if name := c.line.text(header); !strings.EqualFold(name, def) {
		h.Header = name
	}
	if h == (keyHeader{}) {
		return nil
	}
	return &h
}

func (c *converter) sampling() *sampling {
	const flag = "--override-sampling-params"
	if !c.line.has(flag) {
		return nil
	}
	raw := strings.TrimSpace(c.line.text(flag))
	if !json.Valid([]byte(raw)) || !strings.HasPrefix(raw, "{") {
		c.refuse(flag, "is not a JSON object", `one like '{"temperature": 0.6}'`)
		return nil
	}
	s := &sampling{Override: json.RawMessage(raw)}
	if conflict := c.line.text("--sampling-param-conflict"); conflict != "reject" {
		s.Conflict = conflict
	}
	return s
}
