package zmqsub

import (
	"bytes"
	"errors"

	"github.com/pointsman/pointsman/statesvc/kvevents/engine"
)

// cut takes a live message apart and counts what is wrong with it. A payload over the
// limit is no reason to lose the number.
func cut(m message, topic string, c *Counts) (engine.Message, bool) {
	msg, err := engine.Live(m.frames)
	switch {
	case errors.Is(err, &engine.Error{Reason: engine.ReasonFrameCount}):
		c.BadFrames++
	case err != nil:
		c.BadSequence++
	case !bytes.HasPrefix(msg.Topic, []byte(topic)):
		c.BadTopic++
	default:
		if m.oversized {
			c.Oversized++
		}
		return msg, true
	}
	return msg, false
}
