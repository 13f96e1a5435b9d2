package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/pointsman/pointsman/statesvc/config"
	"github.com/pointsman/pointsman/statesvc/kvevents"
	"github.com/pointsman/pointsman/statesvc/kvevents/zmqsub"
	"github.com/pointsman/pointsman/statesvc/kvindex"
	"github.com/pointsman/pointsman/statesvc/pump"
	"github.com/pointsman/pointsman/statesvc/server"
	"github.com/stretchr/testify/require"
)

// followed is an index with one engine that is trusted and one that is not.
type followed struct {
	index *kvindex.Index
}

func newFollowed() *followed {
	f := &followed{index: kvindex.New(kvindex.Config{Seed: 1})}
	f.index.Apply(kvindex.Owner{Worker: "a", Rank: 1}, &kvevents.Event{
		Kind: kvevents.KindStored, Hashes: []kvevents.Hash{1, 2, 3}, Tokens: []uint32{1, 2, 3, 4, 5, 6}, BlockSize: 2,
	})
	f.index.Apply(kvindex.Owner{Worker: "a", Rank: 1}, &kvevents.Event{
		Kind: kvevents.KindStored, Tier: kvevents.TierHost, Hashes: []kvevents.Hash{1}, Tokens: []uint32{1, 2}, BlockSize: 2,
	})
	return f
}

func (f *followed) Index() *kvindex.Index { return f.index }

func (f *followed) Engines() []pump.Engine {
	return []pump.Engine{
		{Worker: "a", Streams: []pump.Stream{{
			Rank: 1, Endpoint: "tcp://127.0.0.1:5558", Topic: "kv", Trust: zmqsub.TrustFull, Reason: "none",
			Status: zmqsub.Status{Connected: true, Last: 41, Counts: zmqsub.Counts{Batches: 42}},
			Events: pump.EventCounts{Events: 43},
		}}},
		{Worker: "<b>", Error: "GET /server_info: status 500"},
	}
}

func (f *followed) Ranks(string) int { return 1 }

func (f *followed) Trust(worker string) (zmqsub.Trust, string) {
	if worker == "a" {
		return zmqsub.TrustFull, "none"
	}
	return zmqsub.TrustNone, "no_source"
}

func (f *followed) Match(p kvindex.Prompt, r *pump.Result) {
	var found kvindex.Result
	f.index.Match(p, &found)
	r.Matches = r.Matches[:0]
	for _, m := range found.Matches {
		r.Matches = append(r.Matches, pump.Match{Match: m, Trust: zmqsub.TrustFull, Reason: "none"})
	}
}

func withIndex(t *testing.T, change func(*config.Config)) *stage {
	t.Helper()
	return newStageWith(t, change, func(o *server.Options) { o.Index = newFollowed() })
}

// The manual's table has every reason.
func TestServer_everyDistrustIsDocumented(t *testing.T) {
	manual, err := os.ReadFile("README.md")
	require.NoError(t, err)
	for _, reason := range pump.Distrusts() {
		require.Contains(t, string(manual), "`"+reason+"`")
	}
}

// The page says how far each engine's events are trusted, and where to read on; without
// an index it says nothing of either.
func TestServer_statusPageShowsTrust(t *testing.T) {
	page := withIndex(t, nil).do(t, "GET", "/", nil).body
	require.Contains(t, page, `<td class="full">full</td>`)
	require.Contains(t, page, `<td class="none">none, no_source</td>`)
	require.Contains(t, page, `href="/v1/index"`)
	bare := newStage(t, nil).do(t, "GET", "/", nil).body
	for _, absent := range []string{"KV events", "no_source", "/v1/index"} {
		require.NotContains(t, bare, absent)
	}
}

func TestServer_indexOverview(t *testing.T) {
	s := withIndex(t, nil)
	a := s.do(t, "GET", "/v1/index", nil)
	require.Equal(t, http.StatusOK, a.status, a.body)
	var view struct {
		Index   map[string]float64
		More    bool
		Engines []struct {
			Worker, Trust, Reason, Error string
			Streams                      []struct {
				Rank, Last float64
				Trust      string
				Counts     map[string]uint64
				Events     map[string]uint64
				Groups     []map[string]float64
			}
		}
	}
	require.NoError(t, json.Unmarshal([]byte(a.body), &view))
	require.Equal(t, 3.0, view.Index["blocks"])
	require.Positive(t, view.Index["bytes"])
	require.Len(t, view.Engines, 2)
	require.Equal(t, "full", view.Engines[0].Trust)
	stream := view.Engines[0].Streams[0]
	require.Equal(t, 41.0, stream.Last)
	require.EqualValues(t, 42, stream.Counts["batches"])
	require.EqualValues(t, 43, stream.Events["events"])
	require.Equal(t, []map[string]float64{{"group": 0, "device": 3, "host": 1, "disk": 0, "external": 0, "unplaced": 0}}, stream.Groups)
	require.Equal(t, "no_source", view.Engines[1].Reason)
	require.Contains(t, view.Engines[1].Error, "status 500")

	a = s.do(t, "GET", "/v1/index?worker=a", nil)
	require.NotContains(t, a.body, "status 500")
	require.Equal(t, http.StatusNotFound, s.do(t, "GET", "/v1/index?worker=nobody", nil).status)
}

func TestServer_indexMatch(t *testing.T) {
	s := withIndex(t, nil)
	a := s.do(t, "POST", "/v1/index/match", []byte(`{"tokens":[1,2,3,4,5,6,7]}`), contentType, "application/json")
	require.Equal(t, http.StatusOK, a.status, a.body)
	require.JSONEq(t, `{"matches":[{"worker":"a","rank":1,"block_size":2,"blocks":3,"tokens":6,
		"within":{"device":3,"host":3,"disk":3,"external":3},"at_most":3,"certain":true,"trust":"full","reason":"none"}],
		"unknown":[{"worker":"<b>","trust":"none","reason":"no_source"}]}`, a.body)
	for body, holds := range map[string]bool{
		`{"tokens":[1,2,3,4,5,6]}`:            true,
		`{"tokens":[1,2,3],"salt":"s"}`:       false,
		`{"tokens":[1,2,3],"lora":"adapter"}`: false,
		`{"tokens":[9,9,9]}`:                  false,
	} {
		a := s.do(t, "POST", "/v1/index/match", []byte(body), contentType, "application/json")
		require.Equal(t, http.StatusOK, a.status, a.body)
		require.Equal(t, holds, strings.Contains(a.body, `"worker":"a"`), body)
	}
}

func TestServer_indexBlocks(t *testing.T) {
	s := withIndex(t, nil)
	type list struct {
		Blocks []struct {
			Hash, Parent string
			Depth        int
			Leaf         bool
			Holders      []struct {
				Worker string
				Tiers  []string
			}
		}
		More bool
	}
	get := func(query string) (l list) {
		a := s.do(t, "GET", "/v1/index/blocks"+query, nil)
		require.Equal(t, http.StatusOK, a.status, a.body)
		require.NoError(t, json.Unmarshal([]byte(a.body), &l))
		return l
	}
	all := get("")
	require.Len(t, all.Blocks, 3)
	require.False(t, all.More)
	for _, b := range all.Blocks {
		require.Len(t, b.Hash, 16)
		require.Equal(t, b.Depth == 0, b.Parent == "")
		require.Equal(t, b.Depth == 2, b.Leaf)
		if b.Depth == 0 {
			require.Equal(t, []string{"device", "host"}, b.Holders[0].Tiers)
		}
		for _, digits := range []int{16, 8, 3} {
			found := get("?hash=" + b.Hash[:digits])
			require.NotEmpty(t, found.Blocks)
			require.Equal(t, b.Hash[:digits], found.Blocks[0].Hash[:digits])
		}
	}
	require.True(t, get("?limit=1").More)
	require.Equal(t, all, get("?limit=1000"), "in the same order each time")
}

func TestServer_indexGarbage(t *testing.T) {
	s := withIndex(t, func(c *config.Config) { c.Token = "s3cret" })
	require.Equal(t, http.StatusUnauthorized, s.do(t, "GET", "/v1/index", nil).status)
	for _, c := range []struct {
		method, path, body, kind string
		status                   int
	}{
		{"POST", "/v1/index", "", "", 405},
		{"GET", "/v1/index/match", "", "", 405},
		{"GET", "/v1/index?wroker=a", "", "", 400},
		{"GET", "/v1/index?worker=a&worker=b", "", "", 400},
		{"GET", "/v1/index/blocks?limit=0", "", "", 400},
		{"GET", "/v1/index/blocks?limit=1001", "", "", 400},
		{"GET", "/v1/index/blocks?hash=xyz", "", "", 400},
		{"GET", "/v1/index/blocks?hash=-1", "", "", 400},
		{"GET", "/v1/index/blocks?hash=" + strings.Repeat("0", 17), "", "", 400},
		{"GET", "/v1/index/blocks?%zz", "", "", 400},
		{"POST", "/v1/index/match", "{}", "application/json", 400},
		{"POST", "/v1/index/match", `{"tokens":[-1]}`, "application/json", 400},
		{"POST", "/v1/index/match", `{"tokens":[4294967296]}`, "application/json", 400},
		{"POST", "/v1/index/match", `{"tokens":[1],"model":"m"}`, "application/json", 400},
		{"POST", "/v1/index/match", `{"tokens":[1]} {}`, "application/json", 400},
		{"POST", "/v1/index/match", `[`, "application/json", 400},
		{"POST", "/v1/index/match", `{"tokens":[1]}`, "text/plain", 415},
		{"POST", "/v1/index/match", `{"tokens":[1]}`, protobuf, 415},
		{"POST", "/v1/index/match", fmt.Sprintf(`{"tokens":[%s1]}`, strings.Repeat("1,", 5000)), "application/json", 413},
	} {
		a := s.do(t, c.method, c.path, []byte(c.body), contentType, c.kind, "Authorization", "Bearer s3cret")
		require.Equal(t, c.status, a.status, "%s %s %.40s: %s", c.method, c.path, c.body, a.body)
		require.Contains(t, a.body, `"error"`)
		require.NotRegexp(t, `Go |uint32|matchQuery|json:`, a.body)
	}
}

func TestServer_readyzNamesStragglers(t *testing.T) {
	s := withIndex(t, nil)
	body := s.do(t, "GET", "/readyz?verbose", nil).body
	require.Contains(t, body, "engines followed 2, KV events trusted fully of 1\n")
	require.Contains(t, body, "worker <b>: trust in its KV events none, no_source\n")
}

func TestServer_withoutIndex(t *testing.T) {
	s := newStage(t, nil)
	require.Equal(t, http.StatusNotFound, s.do(t, "GET", "/v1/index", nil).status)
}
