package engine_test

import (
	"testing"

	"github.com/pointsman/pointsman/statesvc/kvevents/engine"
	"github.com/stretchr/testify/require"
)

var (
	seq5  = []byte{0, 0, 0, 0, 0, 0, 0, 5}
	ended = []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
)

func TestFrames(t *testing.T) {
	topic, payload, empty := []byte("kv"), []byte{1}, []byte{}
	five := engine.Message{Topic: topic, Seq: 5, Payload: payload}
	bare := engine.Message{Topic: empty, Seq: 5, Payload: payload}
	end := engine.Message{Topic: empty, Seq: engine.EndOfReplay, Payload: empty}
	for what, c := range map[string]struct {
		read   func([][]byte) (engine.Message, error)
		frames [][]byte
		want   engine.Message
		reason engine.Reason
	}{
		"live":                 {engine.Live, [][]byte{topic, seq5, payload}, five, 0},
		"live, no topic":       {engine.Live, [][]byte{empty, seq5, payload}, bare, 0},
		"live, end":            {engine.Live, [][]byte{empty, ended, empty}, end, 0},
		"live, none":           {engine.Live, nil, engine.Message{}, engine.ReasonFrameCount},
		"live, 2":              {engine.Live, [][]byte{seq5, payload}, engine.Message{}, engine.ReasonFrameCount},
		"live, 4":              {engine.Live, [][]byte{empty, topic, seq5, payload}, engine.Message{}, engine.ReasonFrameCount},
		"live, short sequence": {engine.Live, [][]byte{topic, seq5[:7], payload}, engine.Message{}, engine.ReasonSequenceFrame},
		"live, long sequence":  {engine.Live, [][]byte{topic, append([]byte{0}, seq5...), payload}, engine.Message{}, engine.ReasonSequenceFrame},
		"live, below -1":       {engine.Live, [][]byte{topic, {0xff, 0, 0, 0, 0, 0, 0, 0}, payload}, engine.Message{}, engine.ReasonSequenceFrame},
		"live, -2":             {engine.Live, [][]byte{topic, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe}, payload}, engine.Message{}, engine.ReasonSequenceFrame},
		"replay":               {engine.Replayed, [][]byte{empty, topic, seq5, payload}, five, 0},
		"replay, end":          {engine.Replayed, [][]byte{empty, empty, ended, empty}, end, 0},
		"old replay":           {engine.Replayed, [][]byte{empty, seq5, payload}, bare, 0},
		"old replay, end":      {engine.Replayed, [][]byte{empty, ended, empty}, end, 0},
		"replay to REQ":        {engine.Replayed, [][]byte{topic, seq5, payload}, five, 0},
		"old replay to REQ":    {engine.Replayed, [][]byte{seq5, payload}, engine.Message{Seq: 5, Payload: payload}, 0},
		"replay, 1":            {engine.Replayed, [][]byte{seq5}, engine.Message{}, engine.ReasonFrameCount},
		"replay, 5":            {engine.Replayed, [][]byte{empty, empty, topic, seq5, payload}, engine.Message{}, engine.ReasonFrameCount},
		"replay, no delimiter": {engine.Replayed, [][]byte{topic, topic, seq5, payload}, engine.Message{}, engine.ReasonFrameCount},
		"replay, bad sequence": {engine.Replayed, [][]byte{empty, topic, payload, payload}, engine.Message{}, engine.ReasonSequenceFrame},
	} {
		t.Run(what, func(t *testing.T) {
			got, err := c.read(c.frames)
			if c.reason != 0 {
				require.ErrorIs(t, err, &engine.Error{Reason: c.reason})
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

func TestReason_hasATextAndAName(t *testing.T) {
	names := map[string]bool{}
	for r := engine.ReasonNotMsgpack; r <= engine.ReasonPartialLoad; r++ {
		require.NotEqual(t, "unknown", r.String())
		require.False(t, names[r.String()])
		names[r.String()] = true
		require.Contains(t, (&engine.Error{Reason: r, Detail: "why"}).Error(), ": why")
		require.NotErrorIs(t, &engine.Error{Reason: r}, &engine.Error{Reason: r + 1})
	}
	require.Equal(t, "unknown", engine.Reason(0).String())
}
