package engine

import (
	"encoding/binary"
	"fmt"
)

// EndOfReplay is the sequence number that ends a replay. In a live stream it resets the
// stream (engine-selection.md 10.4).
const EndOfReplay int64 = -1

// Message is one message of a stream, cut into its parts. They alias the frames.
type Message struct {
	// Topic is empty where the reply form has none.
	Topic []byte
	// Seq counts from 0 in each publisher process, or is EndOfReplay.
	Seq     int64
	Payload []byte
}

// Live cuts a message of a PUB socket: topic, sequence, payload.
func Live(frames [][]byte) (Message, error) {
	if len(frames) != 3 {
		return Message{}, unusable(ReasonFrameCount, fmt.Sprintf("%d instead of topic, sequence and payload", len(frames)))
	}
	return message(frames[0], frames[1], frames[2])
}

// Replayed cuts a reply of a replay socket as a DEALER reads it: an empty frame, the
// topic (vLLM from 0.26.0, SGLang), sequence, payload. The empty frame may be missing,
// as it is behind a socket that takes it off.
func Replayed(frames [][]byte) (Message, error) {
	switch n := len(frames); {
	case n == 4 && len(frames[0]) == 0:
		return message(frames[1], frames[2], frames[3])
	case n == 3:
		return message(frames[0], frames[1], frames[2])
	case n == 2:
		return message(nil, frames[0], frames[1])
	default:
		return Message{}, unusable(ReasonFrameCount, fmt.Sprintf("%d in a replay", n))
	}
}

func message(topic, seq, payload []byte) (Message, error) {
	n, err := Sequence(seq)
	return Message{Topic: topic, Seq: n, Payload: payload}, err
}

// Sequence reads a sequence frame: eight bytes, big-endian, signed; of the negative
// numbers only EndOfReplay has a meaning.
func Sequence(frame []byte) (int64, error) {
	if len(frame) != 8 {
		return 0, unusable(ReasonSequenceFrame, fmt.Sprintf("%d bytes instead of 8", len(frame)))
	}
	n := int64(binary.BigEndian.Uint64(frame))
	if n < EndOfReplay {
		return 0, unusable(ReasonSequenceFrame, fmt.Sprintf("it is %d", n))
	}
	return n, nil
}
