package zmqsub

import (
	"log/slog"
	"time"
)

// Sink takes what a stream delivers. Calls come from one goroutine, in order, and none
// comes after Stream.Close has returned.
type Sink interface {
	// Reset says that all that was delivered is void.
	Reset()
	// Batch delivers the payload of the next batch, which is the sink's from then on.
	Batch(payload []byte) Outcome
}

// Outcome is what a sink made of a batch.
type Outcome struct {
	// Cleared tells that the cache was empty at some point of the batch, so that
	// nothing before it matters any more.
	Cleared bool
	// Doubt is ReasonUndecodable or ReasonTooLarge when something was left out.
	Doubt Reason
}

// Options of a Stream. Endpoint, Sink and Logger are required.
type Options struct {
	Endpoint string // tcp://host:port of the PUB socket
	// Replay is the endpoint of the ROUTER socket, empty when the engine has none.
	Replay string
	Topic  string // prefix of the topics to take; empty for all
	Sink   Sink
	Logger *slog.Logger
	Limits Limits
}

// Limits bound a stream. Zero fields take the value of DefaultLimits.
type Limits struct {
	QueueMessages   int
	QueueBytes      int // besides one message; as much again may wait of a replay
	MaxMessageBytes int
	// ReplayTimeout is how long a replay may be without a reply, ReplayTotal how long
	// it may take.
	ReplayTimeout time.Duration
	ReplayTotal   time.Duration
	// Check is how long a stream is silent before the last batch is asked for again.
	Check time.Duration
}

// DefaultLimits are the queue of engine-selection.md 10.4, its time for a replay as the
// longest silence, and room for a batch of some million tokens.
func DefaultLimits() Limits {
	return Limits{
		QueueMessages: 1024, QueueBytes: 16 << 20, MaxMessageBytes: 16 << 20,
		ReplayTimeout: 2 * time.Second, ReplayTotal: time.Minute, Check: 10 * time.Second,
	}
}

func (l Limits) withDefaults() Limits {
	d := DefaultLimits()
	return Limits{
		QueueMessages:   orElse(l.QueueMessages, d.QueueMessages),
		QueueBytes:      orElse(l.QueueBytes, d.QueueBytes),
		MaxMessageBytes: orElse(l.MaxMessageBytes, d.MaxMessageBytes),
		ReplayTimeout:   orElse(l.ReplayTimeout, d.ReplayTimeout),
		ReplayTotal:     orElse(l.ReplayTotal, d.ReplayTotal),
		Check:           orElse(l.Check, d.Check),
	}
}

func orElse[T int | time.Duration](v, fallback T) T {
	if v <= 0 {
		return fallback
	}
	return v
}
