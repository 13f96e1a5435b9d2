package engine

import (
	"slices"

	"github.com/pointsman/pointsman/statesvc/kvevents"
	"github.com/tinylib/msgp/msgp"
)

// Limits of what one batch may make a Decoder hold.
const (
	// MaxEventHashes is the most hashes of one event (engine-selection.md 10.3).
	MaxEventHashes = 65_536
	// MaxEventTokens is the most numbers among one event's tokens that are kept: what
	// older routers refused an event for (engine-selection.md 10.3).
	MaxEventTokens = 1 << 20
	MaxBatchTokens = 1 << 22 // numbers too, 16 MB
	MaxBatchHashes = 1 << 20 // 8 MB, and as much again for digests
	MaxBatchEvents = 1 << 18 // about 40 MB
)

// What is kept from batch to batch, about 1 MB: above what a step of an engine stores,
// far below the limits.
const (
	keptTokens = 1 << 16
	keptHashes = 1 << 14
	keptEvents = 1 << 11
)

// smallestEvent is the size of the smallest event there is, a removal of nothing.
const smallestEvent = 15

// Decoder decodes batches of KV events. The zero value is ready. It is for one goroutine
// and may serve many streams; what it decoded is valid until the next Decode.
type Decoder struct {
	// Events point into these.
	tokens []uint32
	hashes []kvevents.Hash
	extra  []uint64

	names names
	f     fields
}

// Decode decodes one payload into batch, whose events it replaces. The error is an
// [Error]; the batch has no events then.
func (d *Decoder) Decode(payload []byte, batch *kvevents.Batch) error {
	d.tokens = emptied(d.tokens, keptTokens)
	d.hashes = emptied(d.hashes, keptHashes)
	d.extra = emptied(d.extra, keptHashes)
	*batch = kvevents.Batch{Events: emptied(batch.Events, keptEvents)}
	if err := d.decode(payload, batch); err != nil {
		*batch = kvevents.Batch{Events: batch.Events[:0]}
		return err
	}
	return nil
}

func emptied[T any](s []T, kept int) []T {
	if cap(s) > kept {
		return nil
	}
	return s[:0]
}

func (d *Decoder) decode(b []byte, batch *kvevents.Batch) error {
	n, rest, ok := arrayHeader(b)
	if !ok || n < 2 {
		return broken(b, "it is not an array of at least a time and events")
	}
	at := rest
	if batch.Time, rest, ok = number(at); !ok {
		return broken(at, "its time is not a number")
	}
	rest, err := d.events(rest, batch)
	if err != nil {
		return err
	}
	for i := 2; i < n; i++ {
		if i == 2 {
			batch.Rank, batch.RankKnown = rank(rest)
		}
		if rest, ok = skip(rest); !ok {
			return broken(rest, "")
		}
	}
	if len(rest) > 0 {
		return unusable(ReasonNotBatch, "there are bytes after it")
	}
	return nil
}

// broken tells bytes that are no msgpack from a value that is another than asked for.
func broken(b []byte, detail string) error {
	if _, ok := skip(b); !ok {
		return unusable(ReasonNotMsgpack, "it is cut off or garbled")
	}
	return unusable(ReasonNotBatch, detail)
}

// rank reads a rank; anything but a number of its size is unknown.
func rank(b []byte) (uint32, bool) {
	if _, null := isNil(b); null {
		return 0, false
	}
	r, _, err := msgp.ReadUint32Bytes(b)
	return r, err == nil
}

func (d *Decoder) events(b []byte, batch *kvevents.Batch) ([]byte, error) {
	n, rest, ok := arrayHeader(b)
	if !ok {
		return nil, broken(b, "its events are not an array")
	}
	batch.Events = slices.Grow(batch.Events, min(n, len(rest)/smallestEvent, MaxBatchEvents))
	for range n {
		if len(batch.Events) == MaxBatchEvents {
			batch.Dropped.TooLarge++
			rest, ok = skip(rest)
		} else {
			rest, ok = d.event(rest, batch)
		}
		if !ok {
			return nil, unusable(ReasonNotMsgpack, "it is cut off or garbled")
		}
	}
	return rest, nil
}

// event decodes the next event into the batch, or counts it as dropped. It fails on
// bytes that are no msgpack.
func (d *Decoder) event(b []byte, batch *kvevents.Batch) ([]byte, bool) {
	tokens, hashes, extra := len(d.tokens), len(d.hashes), len(d.extra)
	rest, ok := d.gather(b)
	if !ok {
		return rest, false
	}
	var e kvevents.Event
	switch d.assemble(&e) {
	case verdictGood:
		batch.Events = append(batch.Events, e)
		if d.f.tokensDropped {
			batch.Dropped.Tokens++
		}
		return rest, true
	case verdictUnknownKind:
		batch.Dropped.UnknownKind++
	case verdictTooLarge:
		batch.Dropped.TooLarge++
	case verdictMalformed:
		batch.Dropped.Malformed++
	}
	d.tokens, d.hashes, d.extra = d.tokens[:tokens], d.hashes[:hashes], d.extra[:extra]
	return rest, true
}
