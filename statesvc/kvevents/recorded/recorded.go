package recorded

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
)

// Message is one message of an event or load socket.
type Message struct {
	// At is when it arrived, in seconds since 1970, 0 when that was not recorded.
	At float64 `json:"t"`
	// Port is the publisher's, which tells the ranks of one engine apart. 0 when only
	// one stream was recorded.
	Port   int     `json:"port"`
	Frames []Frame `json:"frames"`
}

// Raw gives the frames as a socket would.
func (m Message) Raw() [][]byte { return raw(m.Frames) }

// Messages reads frames.jsonl: the messages in the order of arrival.
func Messages(r io.Reader) iter.Seq2[Message, error] {
	return func(yield func(Message, error) bool) {
		n := 0
		for m, err := range lines[Message](r) {
			n++
			if err == nil && len(m.Frames) == 0 {
				err = fmt.Errorf("recording, message %d: it has no frames; a line is {\"frames\": [topic, sequence, payload]}, each in hex", n)
			}
			if !yield(m, err) || err != nil {
				return
			}
		}
	}
}

// Replay is one request to a replay socket and its replies.
type Replay struct {
	Name   string
	Port   int
	Socket string // the asking socket's type
	Sent   [][]byte
	// Replies are those that were kept: Omitted ones are missing after the first
	// OmittedAfter.
	Replies      [][][]byte
	Omitted      int
	OmittedAfter int
	// Total counts replies, the end marker among them. FinishedBy says what ended it:
	// "end-marker" or "timeout".
	Total      int
	FinishedBy string
}

// Replays reads replay.jsonl.
func Replays(r io.Reader) iter.Seq2[Replay, error] {
	return func(yield func(Replay, error) bool) {
		for w, err := range lines[replayLine](r) {
			if err != nil {
				yield(Replay{}, err)
				return
			}
			if !yield(w.replay()) {
				return
			}
		}
	}
}

// ReplayOf reads a recording of a single replay: a JSON object with the frames sent and
// received.
func ReplayOf(r io.Reader) (Replay, error) {
	var w struct {
		Sent     []Frame   `json:"sent_frames"`
		Received [][]Frame `json:"received"`
	}
	if err := json.NewDecoder(r).Decode(&w); err != nil {
		return Replay{}, fmt.Errorf("recorded replay: %w", err)
	}
	out := Replay{Sent: raw(w.Sent)}
	for _, frames := range w.Received {
		out.Replies = append(out.Replies, raw(frames))
	}
	return out, nil
}

type replayLine struct {
	Name     string  `json:"name"`
	Port     int     `json:"port"`
	Socket   string  `json:"socket"`
	Sent     []Frame `json:"sent_frames"`
	Received []struct {
		Frames  []Frame `json:"frames"`
		Omitted int     `json:"omitted"`
	} `json:"received"`
	Total      int    `json:"received_total"`
	FinishedBy string `json:"finished_by"`
}

func (w *replayLine) replay() (Replay, error) {
	out := Replay{
		Name: w.Name, Port: w.Port, Socket: w.Socket, Sent: raw(w.Sent),
		Total: w.Total, FinishedBy: w.FinishedBy,
	}
	for _, reply := range w.Received {
		switch {
		case reply.Omitted == 0:
			out.Replies = append(out.Replies, raw(reply.Frames))
		case out.Omitted > 0:
			return out, errors.New("recorded replay " + w.Name + ": replies are left out in more than one place")
		default:
			out.Omitted, out.OmittedAfter = reply.Omitted, len(out.Replies)
		}
	}
	return out, nil
}
