package engine_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/pointsman/pointsman/statesvc/kvevents"
	"github.com/pointsman/pointsman/statesvc/kvevents/recorded"
	"github.com/stretchr/testify/require"
)

const recordings = "../../../e2e/testdata/engines"

// find lists the recordings with a name pattern.
func find(t testing.TB, patterns ...string) []string {
	t.Helper()
	var out []string
	for _, p := range patterns {
		files, err := filepath.Glob(filepath.Join(recordings, p))
		require.NoError(t, err)
		require.NotEmpty(t, files, p)
		out = append(out, files...)
	}
	return out
}

func messages(t testing.TB, file string) []recorded.Message {
	t.Helper()
	f, err := os.Open(file)
	require.NoError(t, err)
	defer f.Close()
	var out []recorded.Message
	for m, err := range recorded.Messages(f) {
		require.NoError(t, err)
		out = append(out, m)
	}
	return out
}

// views reads lines of JSON, numbers undamaged.
func views(t testing.TB, file string) []map[string]any {
	t.Helper()
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	var out []map[string]any
	s := bufio.NewScanner(bytes.NewReader(b))
	s.Buffer(nil, 16<<20)
	for s.Scan() {
		d := json.NewDecoder(bytes.NewReader(s.Bytes()))
		d.UseNumber()
		var v map[string]any
		require.NoError(t, d.Decode(&v))
		out = append(out, v)
	}
	require.NoError(t, s.Err())
	return out
}

// The order of fields in arrays, written down a second time.
var arrayFields = map[string][]string{
	"BlockStored": {
		"type", "block_hashes", "parent_block_hash", "token_ids", "block_size", "lora_id", "medium", "lora_name",
		"extra_keys", "group_idx", "kv_cache_spec_kind", "kv_cache_spec_sliding_window",
	},
	"BlockRemoved":     {"type", "block_hashes", "medium", "group_idx"},
	"AllBlocksCleared": {"type"},
}

// batchOf builds from a decoded view what the decoder should say. Digests of extra keys
// become 1.
func batchOf(t testing.TB, payload any) kvevents.Batch {
	t.Helper()
	p := payload.([]any)
	var b kvevents.Batch
	b.Time, _ = p[0].(json.Number).Float64()
	if len(p) > 2 && p[2] != nil {
		b.Rank, b.RankKnown = uint32Of(t, p[2]), true
	}
	for _, e := range p[1].([]any) {
		b.Events = append(b.Events, eventOf(t, e))
	}
	return b
}

func eventOf(t testing.TB, v any) kvevents.Event {
	t.Helper()
	m, isMap := v.(map[string]any)
	if !isMap {
		m = map[string]any{}
		list := v.([]any)
		for i, name := range arrayFields[list[0].(string)] {
			if i < len(list) {
				m[name] = list[i]
			}
		}
	}
	var e kvevents.Event
	switch m["type"] {
	case "AllBlocksCleared":
		e.Kind = kvevents.KindCleared
		return e
	case "BlockRemoved":
		e.Kind = kvevents.KindRemoved
	case "BlockStored":
		e.Kind = kvevents.KindStored
		storedOf(t, m, &e)
	default:
		t.Fatalf("event of type %v", m["type"])
	}
	for _, h := range m["block_hashes"].([]any) {
		e.Hashes = append(e.Hashes, hashOf(t, h))
	}
	medium, _ := m["medium"].(string)
	e.Tier = map[string]kvevents.Tier{
		"": kvevents.TierNone, "GPU": kvevents.TierDevice, "CPU": kvevents.TierHost, "CPU_PINNED": kvevents.TierHost,
		"STORAGE": kvevents.TierDisk, "DISK": kvevents.TierDisk, "EXTERNAL": kvevents.TierExternal,
	}[medium]
	if m["group_idx"] != nil {
		e.Group = uint32Of(t, m["group_idx"])
	}
	e.Remote = m["locality"] == "REMOTE"
	return e
}

func storedOf(t testing.TB, m map[string]any, e *kvevents.Event) {
	if m["parent_block_hash"] != nil {
		e.Parent, e.HasParent = hashOf(t, m["parent_block_hash"]), true
	}
	for _, tok := range m["token_ids"].([]any) {
		if pair, ok := tok.([]any); ok {
			e.Bigram = true
			e.Tokens = append(e.Tokens, uint32Of(t, pair[0]), uint32Of(t, pair[1]))
			continue
		}
		e.Tokens = append(e.Tokens, uint32Of(t, tok))
	}
	e.BlockSize = uint32Of(t, m["block_size"])
	if m["lora_id"] != nil {
		e.LoRA = "lora_id:" + m["lora_id"].(json.Number).String()
	}
	if name, ok := m["lora_name"].(string); ok {
		e.LoRA = name
	}
	e.Salt, _ = m["cache_salt"].(string)
	e.Scope = map[any]kvevents.Scope{
		"full_attention": kvevents.ScopeFull, "sliding_window": kvevents.ScopeWindow,
	}[m["kv_cache_spec_kind"]]
	if m["kv_cache_spec_sliding_window"] != nil {
		e.Window = uint32Of(t, m["kv_cache_spec_sliding_window"])
	}
	keys, _ := m["extra_keys"].([]any)
	for i, block := range keys {
		for _, k := range orEmpty(block) {
			switch s, isText := k.(string); {
			case !isText:
				if e.Extra == nil {
					e.Extra = make([]uint64, len(m["block_hashes"].([]any)))
				}
				e.Extra[i] = 1
			case i == 0 && s != m["lora_name"]:
				e.Salt = s
			}
		}
	}
}

func orEmpty(v any) []any {
	list, _ := v.([]any)
	return list
}

func uint32Of(t testing.TB, v any) uint32 {
	n, err := strconv.ParseUint(v.(json.Number).String(), 10, 32)
	require.NoError(t, err)
	return uint32(n)
}

func hashOf(t testing.TB, v any) kvevents.Hash {
	if m, ok := v.(map[string]any); ok {
		digest, err := hex.DecodeString(m["bytes"].(string))
		require.NoError(t, err)
		return kvevents.Hash(binary.BigEndian.Uint64(digest[len(digest)-8:]))
	}
	s := v.(json.Number).String()
	if strings.HasPrefix(s, "-") {
		n, err := strconv.ParseInt(s, 10, 64)
		require.NoError(t, err)
		return kvevents.Hash(n)
	}
	n, err := strconv.ParseUint(s, 10, 64)
	require.NoError(t, err)
	return kvevents.Hash(n)
}

// plain copies a decoded batch for comparison: digests become 1, empty slices nil.
func plain(b *kvevents.Batch) kvevents.Batch {
	out := *b
	out.Events = nil
	for _, e := range b.Events {
		e.Hashes = append([]kvevents.Hash(nil), e.Hashes...)
		e.Tokens = append([]uint32(nil), e.Tokens...)
		e.Extra = append([]uint64(nil), e.Extra...)
		for i := range e.Extra {
			e.Extra[i] = min(e.Extra[i], 1)
		}
		out.Events = append(out.Events, e)
	}
	return out
}
