package pump_test

import (
	"fmt"
	"testing"

	"github.com/pointsman/pointsman/statesvc/kvevents/zmqtest"
	"github.com/pointsman/pointsman/statesvc/kvindex"
	"github.com/stretchr/testify/require"
	"github.com/tinylib/msgp/msgp"
)

// follow follows one publisher as worker a.
func follow(t *testing.T, header string) (*rig, *zmqtest.Publisher) {
	t.Helper()
	pub := zmqtest.Start(t, "kv")
	r := start(t, header, fmt.Sprintf("{id: a, address: 127.0.0.1:1, kv: {events: %q, replay: %q, topic: kv}}", pub.Endpoint(), pub.Replay()))
	r.set(worker("a", "127.0.0.1:1", 1))
	r.trusts("a", "full", "none")
	r.eventually("subscribed", func() bool { return pub.Subscribers() == 1 })
	return r, pub
}

// Whatever a batch holds, it is counted, the stream goes on, and what is good is applied.
func TestPump_badBatches(t *testing.T) {
	good := stored(1, 5)
	manyHashes := batchHeader(1)
	manyHashes = msgp.AppendMapHeader(manyHashes, 2)
	manyHashes = msgp.AppendString(msgp.AppendString(manyHashes, "type"), "BlockRemoved")
	manyHashes = msgp.AppendArrayHeader(msgp.AppendString(manyHashes, "block_hashes"), 70_000)
	for i := range 70_000 {
		manyHashes = msgp.AppendInt(manyHashes, i)
	}
	unknown := msgp.AppendMapHeader(batchHeader(1), 1)
	unknown = msgp.AppendString(msgp.AppendString(unknown, "type"), "BlockPolished")
	malformed := msgp.AppendMapHeader(batchHeader(1), 1)
	malformed = msgp.AppendString(msgp.AppendString(malformed, "type"), "BlockStored")
	for name, c := range map[string]struct {
		payload []byte
		reason  string
	}{
		"empty":             {nil, "undecodable"},
		"garbage":           {[]byte{0xc1, 0xff, 0x00}, "undecodable"},
		"cut off":           {good[:len(good)/2], "undecodable"},
		"no batch":          {msgp.AppendString(nil, "hello"), "undecodable"},
		"malformed event":   {malformed, "undecodable"},
		"too many hashes":   {manyHashes, "too_large"},
		"unknown kind":      {unknown, "none"},
		"zeros":             {make([]byte, 2<<20), "undecodable"},
		"fewer hashes":      {storedWith(prompt(50, 6)[:24], 5, 9), "none"},
		"more hashes":       {storedWith(prompt(50, 6)[:24], 7, 9), "undecodable"},
		"no hashes at all":  {storedWith(nil, 0, 9), "none"},
		"hashes, no tokens": {storedWith(nil, 3, 9), "none"},
	} {
		t.Run(name, func(t *testing.T) {
			r, pub := follow(t, quick)
			_ = pub.Publish(stored(200, 3))
			pub.Publish(c.payload)
			pub.Publish(good)
			r.holds(prompt(1, 8), map[kvindex.Owner]int{own("a", 0): 5})
			trust := "partial"
			if c.reason == "none" {
				trust = "full"
			}
			r.trusts("a", trust, c.reason)
			require.Empty(t, r.depth(prompt(50, 6)), "hashes that do not fit their tokens are not laid beside them")
			pub.Publish(cleared())
			r.holds(prompt(1, 8), map[kvindex.Owner]int{})
			r.trusts("a", "full", "none")
		})
	}
}

// 10 M tokens in one event: its message is over the limit, or its tokens are; memory and
// stream survive.
func TestPump_hugeEvents(t *testing.T) {
	tokens := make([]uint32, 10_000_000)
	for i := range tokens {
		tokens[i] = uint32(i) & 63 // a byte each on the wire as the shortest form
	}
	compact := func(n int) []byte {
		b := batchHeader(1)
		b = msgp.AppendMapHeader(b, 5)
		b = msgp.AppendString(msgp.AppendString(b, "type"), "BlockStored")
		b = msgp.AppendUint64(msgp.AppendArrayHeader(msgp.AppendString(b, "block_hashes"), 1), 77)
		b = msgp.AppendNil(msgp.AppendString(b, "parent_block_hash"))
		b = msgp.AppendArrayHeader(msgp.AppendString(b, "token_ids"), uint32(n))
		for _, token := range tokens[:n] {
			b = msgp.AppendInt(b, int(token))
		}
		return msgp.AppendInt(msgp.AppendString(b, "block_size"), n)
	}
	for name, c := range map[string]struct {
		header string
		count  func(r *rig) uint64
	}{
		"tokens over the limit": {quick, func(r *rig) uint64 { return r.pump.Engines()[0].Streams[0].Events.NoTokens }},
		"message over the limit": {`version: 1
kv: {check_ms: 200, replay_timeout_ms: 3000, max_message_bytes: 1048576}
`, func(r *rig) uint64 { return r.pump.Engines()[0].Streams[0].Status.Counts.Oversized }},
	} {
		t.Run(name, func(t *testing.T) {
			r, pub := follow(t, c.header)
			pub.Publish(compact(len(tokens)))
			pub.Publish(stored(1, 5))
			r.holds(prompt(1, 8), map[kvindex.Owner]int{own("a", 0): 5})
			r.trusts("a", "partial", "too_large")
			require.NotZero(t, c.count(r))
			require.Less(t, r.pump.Index().Stats().Bytes, int64(100_000))
		})
	}
}

// A flood stays within queue and budget, and shows.
func TestPump_flood(t *testing.T) {
	r, pub := follow(t, `version: 1
kv: {check_ms: 200, replay_timeout_ms: 3000, budget_bytes: 1048576, queue_messages: 16}
`)
	last := uint32(0)
	for i := range uint32(3000) {
		last = 1 + i*100
		pub.Publish(stored(last, 20))
	}
	r.holds(prompt(last, 30), map[kvindex.Owner]int{own("a", 0): 20})
	require.LessOrEqual(t, r.pump.Index().Stats().Bytes, int64(1<<20))
	require.NotZero(t, r.pump.Index().Stats().Evicted)
}
