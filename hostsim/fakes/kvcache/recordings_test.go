package kvcache_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/pointsman/pointsman/hostsim/fakes/kvcache"
	"github.com/stretchr/testify/require"
)

const whole = 1 << 20 // tokens of one step

// The fake's pool says what vLLM said, for the same prompts and answers: same stores
// with same parents, same evictions in the same order, same hits.
func TestPool_agreesWithRecordedRuns(t *testing.T) {
	t.Run("vllm 0.22.1", func(t *testing.T) {
		r := newRun(t, "vllm-0.22.1/array-events-bs16", 16, 96, whole, kvcache.Hash{})
		require.Equal(t, 20, r.from("a_first", "l_first_again"))
	})
	t.Run("vllm 0.32.0", func(t *testing.T) {
		r := newRun(t, "vllm-0.32.0/main-bs16", 16, 96, whole, kvcache.Hash{})
		require.Greater(t, r.from("a_first", "g_exact_2_blocks"), 9)
	})
	t.Run("vllm 0.32.0 evictions", func(t *testing.T) {
		r := newRun(t, "vllm-0.32.0/main-bs16", 16, 96, whole, kvcache.Hash{})
		r.pool.Reset()
		require.Greater(t, r.from("l_victim", "l_victim_again"), 15)
	})
	t.Run("two copies and chunks", func(t *testing.T) {
		r := newRun(t, "vllm-0.32.0/dup-chunked-bs16", 16, 96, 256, kvcache.Hash{})
		require.Equal(t, 10, r.from("dup_first", "chunked_prefill_40_blocks"))
	})
	t.Run("hits reported again", func(t *testing.T) {
		r := newRun(t, "vllm-0.32.0/dup-chunked-bs16", 16, 96, 256, kvcache.Hash{})
		r.pool.Reset()
		require.Equal(t, 7, r.from("report_mode_default_first", "report_mode_after_evict"))
	})
}

// With a hash that can be computed outside vLLM, the very hashes are the same.
func TestPool_hashesAreThoseOfSha256Cbor(t *testing.T) {
	for dir, c := range map[string]struct {
		size, blocks int
		seed         string
	}{
		"vllm-0.32.0/bs32-cbor":       {32, 48, ""},
		"vllm-0.32.0/bs16-cbor-seed0": {16, 96, "0"},
	} {
		t.Run(dir, func(t *testing.T) {
			r := newRun(t, dir, c.size, c.blocks, whole, kvcache.RootHash(c.seed))
			require.Equal(t, 21, r.from("a_first", "n_after_reset"))
			require.Greater(t, len(r.names), 20)
			for theirs, ours := range r.names {
				require.Equal(t, theirs, fmt.Sprint(ours.Last64()))
			}
		})
	}
}

// The fake's tree says what SGLang's cache said, hash for hash.
func TestRadix_agreesWithRecordedRuns(t *testing.T) {
	cases := map[string][]uint32{}
	for _, c := range lines[overlapCase](t, "vllm-0.32.0/main-bs16/overlap_cases.jsonl") {
		cases[c.Name] = c.Prompt
	}
	a, b, c := cases["a_first"], cases["c_shared_prefix_1"], cases["d_turn2"]
	insert := func(tokens []uint32, ns ...kvcache.Namespace) func(*kvcache.Radix) {
		return func(r *kvcache.Radix) { r.Insert(tokens, append(ns, kvcache.Namespace{})[0]) }
	}
	evict := func(pages int) func(*kvcache.Radix) { return func(r *kvcache.Radix) { r.Evict(pages) } }
	reset := func(r *kvcache.Radix) { r.Reset() }
	nothing := func(*kvcache.Radix) {}
	steps := []func(*kvcache.Radix){
		nothing, insert(a), insert(a), insert(b), insert(c), evict(2), evict(10000), insert(a[:64]), reset, insert(a[:40]),
	}
	for name, run := range map[string]struct {
		page  int
		steps []func(*kvcache.Radix)
	}{
		"page16":         {16, steps},
		"unified-page16": {16, steps},
		"page1":          {1, []func(*kvcache.Radix){nothing, insert(a[:20]), insert(append(slices.Clone(a[:12]), 1, 2, 3, 4)), evict(3)}},
		"salt-default-format": {16, []func(*kvcache.Radix){
			nothing, insert(a[:48]), insert(a[:48], kvcache.Namespace{Salt: "tenant-a"}), insert(a[:48], kvcache.Namespace{Salt: "tenant-b"}),
			insert(a[:48], kvcache.Namespace{Key: "lora-1"}), insert(a[:48], kvcache.Namespace{Key: "lora-1", Salt: "tenant-a"}), evict(10000),
		}},
	} {
		t.Run(name, func(t *testing.T) {
			recorded := lines[struct {
				Payload []any `json:"payload"`
			}](t, "sglang-0.5.23/radix/"+name+".decoded.jsonl")
			r, at := kvcache.NewRadix(kvcache.Config{Blocks: 1000, BlockSize: run.page}), 0
			var theirs []said
			var ours []kvcache.Event
			for _, step := range run.steps {
				step(r)
				ours = append(ours, r.Take()...)
			}
			for at < len(recorded) && len(theirs) < len(ours) {
				for _, e := range recorded[at].Payload[1].([]any) {
					theirs = append(theirs, saidOf(t, e))
				}
				at++
			}
			n := names{}
			n.agree(t, theirs, ours)
			require.GreaterOrEqual(t, at, len(recorded)-1, "all but the last clear, which is told late, was compared")
			for h, o := range n {
				require.Equal(t, h, fmt.Sprint(o.First64()))
			}
		})
	}
}
