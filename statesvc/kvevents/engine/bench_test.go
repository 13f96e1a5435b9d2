package engine_test

import (
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/pointsman/pointsman/statesvc/kvevents"
	"github.com/pointsman/pointsman/statesvc/kvevents/engine"
	"github.com/tinylib/msgp/msgp"
)

// BenchmarkDecode decodes batches of one shape. blocks/s is per core; the state service
// is to take in 1 M blocks each second (design section 9), of which decoding is a part.
func BenchmarkDecode(b *testing.B) {
	for _, c := range []struct {
		name   string
		events [][]byte
	}{
		{"store=1x16", events(64, 1, 16)},
		{"store=16x16", events(16, 16, 16)},
		{"store=64x1", events(16, 64, 1)},
		{"store=64x64", events(4, 64, 64)},
		{"array=16x16", arrays(16, 16, 16)},
		{"remove=1", removals(64, 1)},
		{"remove=64", removals(16, 64)},
	} {
		b.Run(c.name, func(b *testing.B) { decodeAll(b, [][]byte{batchBytes(c.events...)}) })
	}
	b.Run("recorded=vllm", func(b *testing.B) { decodeAll(b, recordedPayloads(b, "vllm-0.32.0/main-bs16/frames.jsonl")) })
	b.Run("recorded=sglang", func(b *testing.B) { decodeAll(b, recordedPayloads(b, "sglang-0.5.23/radix/page16.frames.jsonl")) })
}

func decodeAll(b *testing.B, payloads [][]byte) {
	var d engine.Decoder
	var batch kvevents.Batch
	events, blocks, tokens, size := 0, 0, 0, 0
	for _, p := range payloads {
		if err := d.Decode(p, &batch); err != nil || batch.Dropped.Any() {
			b.Fatal(err, batch.Dropped)
		}
		size += len(p)
		events += len(batch.Events)
		for _, e := range batch.Events {
			blocks += len(e.Hashes)
			tokens += len(e.Tokens)
		}
	}
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		for _, p := range payloads {
			if err := d.Decode(p, &batch); err != nil {
				b.Fatal(err)
			}
		}
	}
	spent := float64(b.Elapsed().Nanoseconds()) / float64(b.N)
	b.ReportMetric(spent/float64(events), "ns/event")
	if tokens > 0 {
		b.ReportMetric(spent/float64(tokens), "ns/token")
	}
	b.ReportMetric(1e9*float64(events)/spent, "events/s")
	b.ReportMetric(1e9*float64(blocks)/spent, "blocks/s")
}

func recordedPayloads(b *testing.B, file string) [][]byte {
	var out [][]byte
	for _, m := range messages(b, filepath.Join(recordings, file)) {
		out = append(out, m.Frames[2])
	}
	return out
}

// rows gives the hashes and tokens of a store, as a real engine's are spread.
func rows(r *rand.Rand, blocks, size int) (hashes, tokens []byte) {
	hashes = msgp.AppendArrayHeader(nil, uint32(blocks))
	for range blocks {
		hashes = msgp.AppendUint64(hashes, r.Uint64())
	}
	tokens = msgp.AppendArrayHeader(nil, uint32(blocks*size))
	for range blocks * size {
		tokens = msgp.AppendUint32(tokens, r.Uint32N(150_000)>>r.Uint32N(10))
	}
	return hashes, tokens
}

func events(n, blocks, size int) [][]byte {
	r := rand.New(rand.NewPCG(1, 2))
	out := make([][]byte, n)
	for i := range out {
		hashes, tokens := rows(r, blocks, size)
		keys := append(msgp.AppendArrayHeader(nil, uint32(blocks)), nils(blocks)...)
		out[i] = stored(pair{"block_hashes", hashes}, pair{"token_ids", tokens}, pair{"block_size", num(int64(size))},
			pair{"extra_keys", keys}, pair{"group_idx", num(0)}, pair{"kv_cache_spec_kind", str("full_attention")})
	}
	return out
}

func arrays(n, blocks, size int) [][]byte {
	r := rand.New(rand.NewPCG(1, 2))
	out := make([][]byte, n)
	for i := range out {
		hashes, tokens := rows(r, blocks, size)
		out[i] = arr(str("BlockStored"), hashes, num(9), tokens, num(int64(size)), null(), str("GPU"))
	}
	return out
}

func removals(n, blocks int) [][]byte {
	r := rand.New(rand.NewPCG(1, 2))
	out := make([][]byte, n)
	for i := range out {
		hashes, _ := rows(r, blocks, 0)
		out[i] = removed(pair{"block_hashes", hashes})
	}
	return out
}

func nils(n int) []byte {
	out := make([]byte, n)
	for i := range out {
		out[i] = 0xc0
	}
	return out
}
