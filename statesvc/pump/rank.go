package pump

import (
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/pointsman/pointsman/statesvc/kvevents"
	"github.com/pointsman/pointsman/statesvc/kvevents/engine"
	"github.com/pointsman/pointsman/statesvc/kvevents/zmqsub"
	"github.com/pointsman/pointsman/statesvc/kvindex"
)

type batch = kvevents.Batch

// rank is the events of one data-parallel rank on their way into the index. It is the
// sink of its stream.
type rank struct {
	pump   *Pump
	owner  kvindex.Owner
	target target
	stream atomic.Pointer[zmqsub.Stream] // nil while another engine has the socket
	heard  heard                         // of its cache
	// denied tells that the log knows of another engine having the socket. It belongs to
	// the follower's goroutine.
	denied bool

	mu     sync.Mutex
	counts EventCounts
}

// EventCounts are what a rank's batches held. They only grow. What was left out has
// the names of the metrics.
type EventCounts struct {
	Events      uint64 `json:"events"`
	Cleared     uint64 `json:"cleared"`     // events that emptied the cache
	NotMsgpack  uint64 `json:"not_msgpack"` // batches that cannot be taken apart
	NotBatch    uint64 `json:"not_a_batch"`
	Malformed   uint64 `json:"malformed"` // events left out, by why
	UnknownKind uint64 `json:"unknown_kind"`
	TooLarge    uint64 `json:"too_large"`
	NoTokens    uint64 `json:"no_tokens"`  // stores whose tokens were too many, and left out
	OtherRank   uint64 `json:"other_rank"` // batches that name another rank than the socket's
}

// Reset implements zmqsub.Sink.
func (r *rank) Reset() { r.pump.index.Reset(r.owner) }

// Batch implements zmqsub.Sink. An event that was left out may have been a removal, so
// the stream is in doubt; a kind of event that nobody knows is not held against it.
func (r *rank) Batch(payload []byte) zmqsub.Outcome {
	d := r.pump.decoders.Get().(*decoding)
	defer r.pump.decoders.Put(d)
	if err := d.decoder.Decode(payload, &d.batch); err != nil {
		r.undecodable(err)
		return zmqsub.Outcome{Doubt: zmqsub.ReasonUndecodable}
	}
	r.pump.index.ApplyBatch(r.owner, &d.batch)
	r.heard.now()
	r.pump.heard.now()
	cleared := r.count(&d.batch)
	out := zmqsub.Outcome{Cleared: cleared}
	switch drops := &d.batch.Dropped; {
	case drops.TooLarge > 0 || drops.Tokens > 0:
		out.Doubt = zmqsub.ReasonTooLarge
	case drops.Malformed > 0:
		out.Doubt = zmqsub.ReasonUndecodable
	}
	return out
}

func (r *rank) undecodable(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if errors.Is(err, &engine.Error{Reason: engine.ReasonNotMsgpack}) {
		r.counts.NotMsgpack++
		return
	}
	r.counts.NotBatch++
}

func (r *rank) count(b *batch) (cleared bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := &r.counts
	c.Events += uint64(len(b.Events))
	for i := range b.Events {
		if b.Events[i].Kind == kvevents.KindCleared {
			c.Cleared++
			cleared = true
		}
	}
	c.Malformed += uint64(b.Dropped.Malformed)
	c.UnknownKind += uint64(b.Dropped.UnknownKind)
	c.TooLarge += uint64(b.Dropped.TooLarge)
	c.NoTokens += uint64(b.Dropped.Tokens)
	if b.RankKnown && b.Rank != r.owner.Rank {
		c.OtherRank++
	}
	return cleared
}

func (r *rank) eventCounts() EventCounts {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.counts
}

// refused tells the log, once, that another engine has the socket.
func (r *rank) refused(log *slog.Logger) {
	if r.denied {
		return
	}
	r.denied = true
	log.Warn("event socket is another engine's; nothing is known of this one's cache", "endpoint", r.target.endpoint, "rank", r.owner.Rank,
		"advice", "give each engine an event port of its own, or name the right one in kv.events of this worker")
}

// granted tells it that the socket is this rank's after all.
func (r *rank) granted(log *slog.Logger) {
	if r.denied {
		r.denied = false
		log.Info("event socket is this engine's now", "endpoint", r.target.endpoint, "rank", r.owner.Rank)
	}
}

// close ends the stream; what the index has of the rank goes.
func (r *rank) close() {
	if s := r.stream.Swap(nil); s != nil {
		s.Close()
	}
	r.pump.ranks.CompareAndDelete(r.owner, r)
	r.pump.index.Reset(r.owner)
	r.pump.claims.drop(r.target.endpoint, r.owner.Worker)
}
