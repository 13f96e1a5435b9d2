package flow

import (
	"github.com/pointsman/pointsman/core/chat"
	"github.com/pointsman/pointsman/core/policy"
)

// fieldsWanted gives the place for what a body has of keys, nil when no key is
// looked for in bodies.
func (c *Context) fieldsWanted() *chat.Fields {
	if len(c.sessionFields)+len(c.routingFields) == 0 {
		return nil
	}
	c.fields = chat.Fields{}
	return &c.fields
}

// keysOfBody takes the keys that no header brought from the body that was read.
func (r *Request) keysOfBody() {
	r.session = r.ctx.keyOr(r.session, r.ctx.sessionFields)
	r.routing = r.ctx.keyOr(r.routing, r.ctx.routingFields)
}

// keyOr gives a header's key, or else the first of some fields that has one.
func (c *Context) keyOr(key string, fields []chat.Field) string {
	if key != "" {
		return key
	}
	for _, f := range fields {
		if value := c.fields.Value(f); value != "" {
			return policy.BodyKey(value)
		}
	}
	return ""
}
