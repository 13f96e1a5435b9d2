package kvcache_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pointsman/pointsman/hostsim/fakes/kvcache"
	"github.com/stretchr/testify/require"
)

const recordings = "../../../e2e/testdata/engines"

// lines reads a file of JSON values, numbers undamaged.
func lines[T any](t *testing.T, path string) (list []T) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(recordings, path))
	require.NoError(t, err)
	s := bufio.NewScanner(bytes.NewReader(b))
	s.Buffer(nil, 16<<20)
	for s.Scan() {
		d := json.NewDecoder(bytes.NewReader(s.Bytes()))
		d.UseNumber()
		var v T
		require.NoError(t, d.Decode(&v))
		list = append(list, v)
	}
	return list
}

// said is an event as an engine sent it.
type said struct {
	kind   kvcache.Kind
	medium string
	hashes []string
	parent string // "" at the start of a prompt
	tokens []uint32
}

// saidOf reads an event of a decoded view, a map or an array.
func saidOf(t *testing.T, v any) said {
	t.Helper()
	m, isMap := v.(map[string]any)
	if !isMap {
		list := v.([]any)
		m = map[string]any{"type": list[0]}
		if len(list) > 1 {
			m["block_hashes"] = list[1]
		}
		if list[0] == "BlockStored" {
			m["parent_block_hash"], m["token_ids"] = list[2], list[3]
		}
	}
	e := said{kind: map[any]kvcache.Kind{
		"BlockStored": kvcache.Stored, "BlockRemoved": kvcache.Removed, "AllBlocksCleared": kvcache.Cleared,
	}[m["type"]]}
	e.medium, _ = m["medium"].(string)
	for _, h := range orNone(m["block_hashes"]) {
		e.hashes = append(e.hashes, h.(json.Number).String())
	}
	if m["parent_block_hash"] != nil {
		e.parent = m["parent_block_hash"].(json.Number).String()
	}
	for _, tok := range orNone(m["token_ids"]) {
		n, err := tok.(json.Number).Int64()
		require.NoError(t, err)
		e.tokens = append(e.tokens, uint32(n))
	}
	return e
}

func orNone(v any) []any {
	list, _ := v.([]any)
	return list
}

// names binds an engine's names of blocks to ours: one of theirs is always the same one
// of ours.
type names map[string]kvcache.Hash

func (n names) same(t *testing.T, theirs string, ours kvcache.Hash) {
	t.Helper()
	if known, ok := n[theirs]; ok {
		require.Equal(t, known, ours)
	}
	n[theirs] = ours
}

// agree requires that the cache said what the engine said.
func (n names) agree(t *testing.T, theirs []said, ours []kvcache.Event) {
	t.Helper()
	require.Equal(t, outline(theirs, func(e said) (kvcache.Kind, int) { return e.kind, len(e.hashes) }),
		outline(ours, func(e kvcache.Event) (kvcache.Kind, int) { return e.Kind, len(e.Hashes) }))
	for i, e := range theirs {
		o := ours[i]
		require.Equal(t, e.tokens, o.Tokens)
		require.Equal(t, e.parent == "", o.Parent == nil)
		if o.Parent != nil {
			n.same(t, e.parent, *o.Parent)
		}
		for j, h := range e.hashes {
			n.same(t, h, o.Hashes[j])
		}
	}
}

func outline[T any](list []T, of func(T) (kvcache.Kind, int)) string {
	var b strings.Builder
	for _, e := range list {
		kind, hashes := of(e)
		fmt.Fprintf(&b, "%s%d ", [...]string{"?", "stored", "removed", "cleared"}[kind], hashes)
	}
	return b.String()
}

// request is one of a run's, with what is needed to repeat it.
type request struct {
	Name   string   `json:"name"`
	Path   string   `json:"path"`
	Status int      `json:"status"`
	Seqs   [][2]int `json:"event_seqs"`
	Req    string   `json:"req_body"`
	Resp   string   `json:"resp_body"`
}

// usage reads a reply's counts. cached is absent in old releases when it is 0.
func (r *request) usage(t *testing.T) (output, cached int) {
	t.Helper()
	var v struct {
		Usage struct {
			Output  int `json:"completion_tokens"`
			Details *struct {
				Cached int `json:"cached_tokens"`
			} `json:"prompt_tokens_details"`
		}
	}
	if strings.HasPrefix(r.Resp, "data: ") { // a stream: its usage is in the last chunk, if it was asked for
		return -1, -1
	}
	require.NoError(t, json.Unmarshal([]byte(r.Resp), &v))
	if v.Usage.Details == nil {
		return v.Usage.Output, 0
	}
	return v.Usage.Output, v.Usage.Details.Cached
}

type overlapCase struct {
	Name   string   `json:"name"`
	Salt   string   `json:"cache_salt"`
	Prompt []uint32 `json:"prompt_token_ids"`
	Cached int      `json:"engine_cached_tokens"`
}

// run repeats a recorded run request by request.
type run struct {
	t       *testing.T
	dir     string
	cases   map[string]overlapCase
	batches []struct {
		Seq     int   `json:"seq"`
		Payload []any `json:"payload"`
	}
	size, chunk int
	pool        *kvcache.Pool
	names       names
	depth       map[string]int // of a block, by the engine's name
}

func newRun(t *testing.T, dir string, size, blocks, chunk int, root kvcache.Hash) *run {
	t.Helper()
	cfg := kvcache.Config{
		Blocks: blocks - 1, BlockSize: size, Root: root, // one is vLLM's null block
		UnfilledLast: strings.HasPrefix(dir, "vllm-0.22.1/"),
	}
	r := &run{
		t: t, dir: dir, size: size, chunk: chunk, cases: map[string]overlapCase{}, names: names{}, depth: map[string]int{},
		pool: kvcache.NewPool(cfg),
	}
	for _, c := range lines[overlapCase](t, dir+"/overlap_cases.jsonl") {
		r.cases[c.Name] = c
	}
	r.batches = lines[struct {
		Seq     int   `json:"seq"`
		Payload []any `json:"payload"`
	}](t, dir+"/decoded.jsonl")
	return r
}

// saidDuring is what the engine said during a request.
func (r *run) saidDuring(q request) (list []said) {
	for _, at := range q.Seqs {
		for _, e := range r.batches[at[1]].Payload[1].([]any) {
			list = append(list, saidOf(r.t, e))
		}
	}
	return list
}

// answer finds the tokens of an answer as far as they filled blocks, and thus were said.
func (r *run) answer(prompt []uint32, output int, events []said) []uint32 {
	tokens := make([]uint32, output)
	for _, e := range events {
		if e.kind != kvcache.Stored {
			continue
		}
		at := 0
		if e.parent != "" {
			at = (r.depth[e.parent] + 1) * r.size
		}
		for i, h := range e.hashes {
			r.depth[h] = at/r.size + i
		}
		for i, tok := range e.tokens {
			if n := at + i - len(prompt); n >= 0 {
				tokens[n] = tok
			}
		}
	}
	return tokens
}

// repeat does one request and requires the same events and the same hit.
func (r *run) repeat(q request) {
	c := r.cases[q.Name]
	events := r.saidDuring(q)
	output, cached := q.usage(r.t)
	if output < 0 {
		output, cached = 12, c.Cached
	}
	answer := r.answer(c.Prompt, output, events)
	seq, hit, ok := r.pool.Admit(c.Prompt, kvcache.Namespace{Salt: c.Salt})
	require.True(r.t, ok)
	require.Equal(r.t, cached, hit, "cached tokens of %s", q.Name)
	if strings.Contains(q.Req, `"kv_cache_report_mode": "full"`) {
		seq.Report()
	}
	for seq.Schedule(r.chunk) > 0 { // chunk by chunk; the chunks' stores are compared as one list
	}
	seq.Complete()
	for _, tok := range answer {
		require.True(r.t, seq.Append(tok))
	}
	seq.Release()
	r.t.Run(q.Name, func(t *testing.T) { r.names.agree(t, events, r.pool.Take()) })
}

// from repeats the requests of a run between two names, both included.
func (r *run) from(first, last string, skip ...string) (done int) {
	in := false
	for _, q := range lines[request](r.t, r.dir+"/requests.jsonl") {
		in = in || q.Name == first
		if !in {
			continue
		}
		switch {
		case slices.Contains(skip, q.Name):
		case q.Path == "/reset_prefix_cache":
			require.Equal(r.t, strings.Contains(q.Resp, "true"), r.pool.Reset())
		case len(r.cases[q.Name].Prompt) > 0:
			r.repeat(q)
			done++
		default:
			require.Empty(r.t, q.Seqs, "nothing is known of %s, but it stored blocks", q.Name)
		}
		if q.Name == last {
			return done
		}
	}
	return done
}
