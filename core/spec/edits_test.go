package spec

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pointsman/pointsman/configs"
)

// UnmarshalJSON is how encoding/json reads a guard, for the naive reading below.
func (g *Guard) UnmarshalJSON(raw []byte) error {
	if string(raw) == "false" {
		g.Off = true
		return nil
	}
	type plain Guard
	return json.Unmarshal(raw, (*plain)(g))
}

// node is a JSON value that keeps the order and the repeats of keys.
type node struct {
	keys  []string // of an object
	items []*node  // of an object or a list
	list  bool
	text  string // of a scalar
}

func parse(t testing.TB, document []byte) *node {
	dec := json.NewDecoder(bytes.NewReader(document))
	dec.UseNumber()
	return parseNext(t, dec)
}

func parseNext(t testing.TB, dec *json.Decoder) *node {
	token, err := dec.Token()
	require.NoError(t, err)
	open, ok := token.(json.Delim)
	if !ok {
		text, err := json.Marshal(token)
		require.NoError(t, err)
		return &node{text: string(text)}
	}
	n := &node{list: open == '['}
	for dec.More() {
		if !n.list {
			key, err := dec.Token()
			require.NoError(t, err)
			n.keys = append(n.keys, key.(string))
		}
		n.items = append(n.items, parseNext(t, dec))
	}
	_, err = dec.Token()
	require.NoError(t, err)
	return n
}

func (n *node) write(b *strings.Builder) {
	switch {
	case n.text != "":
		b.WriteString(n.text)
	case n.list:
		b.WriteString("[")
	default:
		b.WriteString("{")
	}
	for i, item := range n.items {
		if i > 0 {
			b.WriteString(",")
		}
		if !n.list {
			b.WriteString(strconv.Quote(n.keys[i]) + ":")
		}
		item.write(b)
	}
	switch {
	case n.text != "":
	case n.list:
		b.WriteString("]")
	default:
		b.WriteString("}")
	}
}

// kind is what JSON calls the value, by its first byte; numbers are 0.
func (n *node) kind() byte {
	switch {
	case n.list:
		return '['
	case n.text == "":
		return '{'
	case strings.Contains(`-0123456789`, n.text[:1]):
		return '0'
	}
	return n.text[0]
}

// spot is one member of an object or a list.
type spot struct {
	parent *node
	at     int
	path   string
}

func (n *node) spots(path string) (all []spot) {
	for i, item := range n.items {
		at := index(path, i)
		if !n.list {
			at = join(path, n.keys[i])
		}
		all = append(append(all, spot{n, i, at}), item.spots(at)...)
	}
	return all
}

// edit changes the document at one place. It tells the path that must be named
// when the change cannot be taken, empty when another one may be.
func (s spot) edit(t testing.TB, r *rand.Rand) string {
	n := s.parent
	switch action := r.IntN(4); {
	case action == 0:
		n.items = slices.Delete(n.items, s.at, s.at+1)
		if !n.list {
			n.keys = slices.Delete(n.keys, s.at, s.at+1)
		}
	case action == 1:
		n.items = slices.Insert(n.items, s.at+1, n.items[s.at])
		if !n.list {
			n.keys = slices.Insert(n.keys, s.at+1, n.keys[s.at])
			return s.path
		}
	case action == 2 && !n.list:
		n.keys[s.at] = misspell(n.keys[s.at], r)
	default:
		values := []string{`null`, `true`, `false`, `0`, `-1`, `1.5`, `1e99`, `18446744073709551616`, `""`, `"x"`, `[]`, `[{}]`, `{}`, `{"x":1}`}
		next := parse(t, []byte(values[r.IntN(len(values))]))
		same := next.kind() == n.items[s.at].kind() || next.kind()+n.items[s.at].kind() == 't'+'f'
		n.items[s.at] = next
		if !same {
			return s.path
		}
	}
	return ""
}

func misspell(key string, r *rand.Rand) string {
	at := r.IntN(len(key))
	switch r.IntN(4) {
	case 0:
		return key[:at] + key[at+1:]
	case 1:
		return strings.ToUpper(key)
	case 2:
		return key[:at] + "_" + key[at:]
	}
	return key + "s"
}

// A thousand random edits of each valid configuration: never a panic, and either
// the meaning that a naive reading of the edited text has, or problems with
// their paths.
func TestDecode_random_edits(t *testing.T) {
	documents := map[string]string{
		"document": document("", ""), "routes": routes, "session": hashed(`"session": {"header": "x-s"}, `, onSession),
		"prefix":  hashed("", onPrefix+`, "prefix_bytes": 9, "load_factor": 2, "load_floor": 3`),
		"bound":   hashed(`"session": {"idle_secs": 5}, `, `"type": "session_aware", "admission": {"max_inflight_requests": 4}`),
		"sticky":  hashed(`"routing_key": {"header": "x-r", "idle_secs": 5}, `, `"type": "sticky", "fallback": "load_based"`),
		"cache":   hashed("", `"type": "cache_aware", "source": "local", "min_matched_tokens": 5, "min_match_ratio": 0.5, "candidate_min_workers": 2, "candidate_ratio": 0.5, "candidate_max_workers": 4, "switch_margin_tokens": 6, "worker_queue_limit": 8, "saturation_queue_floor": 4, "min_load_choices": 3, "pressure_guard": {"abs_threshold_tokens": 1, "abs_threshold_ms": 2.5, "rel_threshold": 3}`),
		"guarded": hashed("", `"type": "cache_aware", "private_match": true, "pressure_guard": false`),
		"default": attached(`"policy": {"type": "power_of_two", "choices": 3}, `, ``, `"policy": {"type": "random"}`, `"worker_ids": ["a"]`),
		"whole":   `{"version":1,"proxy":"p","on_no_state":"reject","endpoint_mode":"override_host","transport_retry":true,"paths":["/v1/completions"],"max_body_bytes":9,"body_timeout_ms":9,"breaker":{"threshold":5,"cool_down_ms":70},"receipts":"log","seed":4,"state":{"cluster":"s","authority":"a","token_env":"T","sync_interval_ms":50,"timeout_ms":60},"workers":[{"id":"a","address":"10.0.0.1:80","models":["m"],"role":"plain"}],"models":{"m":{"aliases":["x"],"tokens":"estimate","ttft_slo":"slo_first","tps_slo":"best_effort","buckets":[{"id":"b","rank":1,"limits":{"min":1,"max":8},"max_context_tokens":16,"ttft_ms":5,"tokens_per_second":2.5,"groups":{"plain":{"worker_ids":["a"],"policy":{"type":"power_of_two","choices":3}}}}]}}}`,
	}
	files, err := fs.Glob(configs.FS, "filter/*.json")
	require.NoError(t, err)
	for _, name := range files {
		text, err := configs.FS.ReadFile(name)
		require.NoError(t, err)
		documents[name] = string(text)
	}
	for name, text := range documents {
		t.Run(name, func(t *testing.T) {
			everything(t, text)
			r := rand.New(rand.NewPCG(uint64(len(text)), 5))
			taken := 0
			for range 1000 {
				if editedIsSound(t, text, r) {
					taken++
				}
			}
			require.Greater(t, taken, 10, "some edits are other valid configurations")
			require.Less(t, taken, 990)
		})
	}
}

// editedIsSound makes one edit and checks what comes of it. It reports whether
// the edited document was taken.
func editedIsSound(t *testing.T, text string, r *rand.Rand) bool {
	t.Helper()
	root := parse(t, []byte(text))
	spots := root.spots("")
	path := spots[r.IntN(len(spots))].edit(t, r)
	var b strings.Builder
	root.write(&b)
	edited := b.String()

	cfg, err := decodeFed([]byte(edited), nil)
	if err != nil {
		var problems Problems
		require.ErrorAs(t, err, &problems, edited)
		require.NotEmpty(t, problems)
		named := path == ""
		for _, p := range problems {
			require.NotEmpty(t, p.Path, "%s\n%v", edited, err)
			named = named || within(p.Path, path)
		}
		require.True(t, named, "%s is not named:\n%s\n%v", path, edited, err)
		return false
	}
	naive := &Config{}
	dec := json.NewDecoder(strings.NewReader(edited))
	dec.DisallowUnknownFields()
	require.NoError(t, dec.Decode(naive), edited)
	require.Equal(t, naive, cfg, edited)
	_, err = Build(Defaults(cfg), stateful())
	require.NoError(t, err, edited)
	return true
}
