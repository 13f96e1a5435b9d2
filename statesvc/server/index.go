package server

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/pointsman/pointsman/statesvc/kvevents"
	"github.com/pointsman/pointsman/statesvc/kvevents/zmqsub"
	"github.com/pointsman/pointsman/statesvc/kvindex"
	"github.com/pointsman/pointsman/statesvc/pump"
)

// Index tells of the KV index and the streams that feed it. *pump.Pump is one.
type Index interface {
	pump.Matcher
	Engines() []pump.Engine
	Index() *kvindex.Index
}

// maxIndexEngines bounds the engines of one answer.
const maxIndexEngines = 1000

// addIndex adds the paths below /v1/index, when there is an index.
func (s *Server) addIndex(table map[string]*route) {
	if s.index == nil {
		return
	}
	get := func(h http.HandlerFunc) map[string]http.HandlerFunc {
		return map[string]http.HandlerFunc{http.MethodGet: h, http.MethodHead: h}
	}
	table["/v1/index"] = &route{name: "index", methods: get(s.indexOverview), guarded: true}
	table["/v1/index/blocks"] = &route{name: "index_blocks", methods: get(s.indexBlocks), guarded: true}
	table["/v1/index/match"] = &route{name: "index_match", methods: map[string]http.HandlerFunc{http.MethodPost: s.indexMatch}, guarded: true}
}

// indexView is the answer of GET /v1/index.
type indexView struct {
	Index   indexNumbers  `json:"index"`
	Engines []engineEntry `json:"engines"`
	// More is true when there are engines that did not fit.
	More bool `json:"more"`
}

type indexNumbers struct {
	Bytes       int64  `json:"bytes"`
	Blocks      int64  `json:"blocks"`
	Entries     int64  `json:"entries"`
	Unplaced    int64  `json:"unplaced"`
	Owners      int    `json:"owners"`
	Shapes      int    `json:"shapes"`
	ExtraCopies int64  `json:"extra_copies"`
	Evicted     uint64 `json:"evicted"`
}

type engineEntry struct {
	Worker  string        `json:"worker"`
	Trust   string        `json:"trust"`
	Reason  string        `json:"reason"`
	Error   string        `json:"error,omitempty"`
	Streams []streamEntry `json:"streams"`
	Load    []feedEntry   `json:"load"`
}

type streamEntry struct {
	Rank      uint32           `json:"rank"`
	Endpoint  string           `json:"endpoint"`
	Replay    string           `json:"replay,omitempty"`
	Topic     string           `json:"topic"`
	Trust     string           `json:"trust"`
	Reason    string           `json:"reason"`
	SinceMS   int64            `json:"since_ms"`
	Connected bool             `json:"connected"`
	Last      int64            `json:"last"` // -1: none
	Queued    int              `json:"queued"`
	Error     string           `json:"error,omitempty"`
	Counts    zmqsub.Counts    `json:"counts"`
	Events    pump.EventCounts `json:"events"`
	Groups    []occupancyEntry `json:"groups"`
}

type occupancyEntry struct {
	Group    uint32 `json:"group"`
	Window   uint32 `json:"window,omitempty"`
	Device   int64  `json:"device"`
	Host     int64  `json:"host"`
	Disk     int64  `json:"disk"`
	External int64  `json:"external"`
	Unplaced int64  `json:"unplaced"`
}

type feedEntry struct {
	Rank      uint32 `json:"rank"`
	Endpoint  string `json:"endpoint"`
	Connected bool   `json:"connected"`
	Reports   uint64 `json:"reports"`
	Error     string `json:"error,omitempty"`
}

// indexOverview is GET /v1/index.
func (s *Server) indexOverview(w http.ResponseWriter, r *http.Request) {
	query, ok := onlyKnown(w, r, "worker")
	if !ok {
		return
	}
	only := query.Get("worker")
	x := s.index.Index()
	n := x.Stats()
	view := indexView{Index: indexNumbers{
		Bytes: n.Bytes, Blocks: n.Nodes, Entries: n.Entries, Unplaced: n.Unplaced, Owners: n.Owners, Shapes: n.Shapes,
		ExtraCopies: n.ExtraCopies, Evicted: n.Evicted,
	}, Engines: []engineEntry{}}
	groups := map[kvindex.Owner][]occupancyEntry{}
	for _, o := range x.Occupancies(nil) {
		groups[o.Owner] = append(groups[o.Owner], occupancy(&o))
	}
	for _, e := range s.index.Engines() {
		if only != "" && e.Worker != only {
			continue
		}
		if len(view.Engines) == maxIndexEngines {
			view.More = true
			break
		}
		view.Engines = append(view.Engines, s.engine(&e, groups))
	}
	if only != "" && len(view.Engines) == 0 {
		fail(w, http.StatusNotFound, "not_found", "no such worker; GET /v1/workers lists them")
		return
	}
	writeJSON(w, http.StatusOK, view)
}

func (s *Server) engine(e *pump.Engine, groups map[kvindex.Owner][]occupancyEntry) engineEntry {
	trust, reason := s.index.Trust(e.Worker)
	out := engineEntry{Worker: e.Worker, Trust: trust.String(), Reason: reason, Error: e.Error, Streams: []streamEntry{}, Load: []feedEntry{}}
	for i := range e.Streams {
		st := &e.Streams[i]
		entry := streamEntry{
			Rank: st.Rank, Endpoint: st.Endpoint, Replay: st.Replay, Topic: st.Topic, Trust: st.Trust.String(), Reason: st.Reason,
			Connected: st.Status.Connected, Last: st.Status.Last, Queued: st.Status.Queued, Error: st.Status.Error,
			Counts: st.Status.Counts, Events: st.Events, Groups: groups[kvindex.Owner{Worker: e.Worker, Rank: st.Rank}],
		}
		if !st.Status.Since.IsZero() {
			entry.SinceMS = time.Since(st.Status.Since).Milliseconds()
		}
		if entry.Groups == nil {
			entry.Groups = []occupancyEntry{}
		}
		out.Streams = append(out.Streams, entry)
	}
	for _, f := range e.Feeds {
		out.Load = append(out.Load, feedEntry{
			Rank: f.Rank, Endpoint: f.Endpoint, Connected: f.Status.Connected, Reports: f.Status.Counts.Batches, Error: f.Status.Error,
		})
	}
	return out
}

func occupancy(o *kvindex.Occupancy) occupancyEntry {
	return occupancyEntry{
		Group: o.Group, Window: o.Window, Unplaced: o.Unplaced,
		Device: o.On(kvevents.TierDevice), Host: o.On(kvevents.TierHost), Disk: o.On(kvevents.TierDisk), External: o.On(kvevents.TierExternal),
	}
}

// onlyKnown refuses query parameters that nobody knows, and those given twice.
func onlyKnown(w http.ResponseWriter, r *http.Request, known ...string) (url.Values, bool) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		fail(w, http.StatusBadRequest, badRequest, "the query is malformed: "+err.Error())
		return nil, false
	}
	for name, values := range query {
		if !slices.Contains(known, name) || len(values) > 1 {
			fail(w, http.StatusBadRequest, badRequest, fmt.Sprintf("query parameter %.40q: want at most one each of %v", name, known))
			return nil, false
		}
	}
	return query, true
}

// maxStragglers bounds the engines that /readyz?verbose names.
const maxStragglers = 20

// verboseIndex adds how the event streams stand, and which engines' caches are not known
// in full (field report C62).
func (s *Server) verboseIndex(b *strings.Builder) {
	if s.index == nil {
		return
	}
	engines := s.index.Engines()
	var behind []string
	for i := range engines {
		if trust, reason := s.index.Trust(engines[i].Worker); trust != zmqsub.TrustFull {
			behind = append(behind, fmt.Sprintf("worker %s: trust in its KV events %s, %s\n", engines[i].Worker, trust, reason))
		}
	}
	fmt.Fprintf(b, "engines followed %d, KV events trusted fully of %d\n", len(engines), len(engines)-len(behind))
	for _, line := range behind[:min(len(behind), maxStragglers)] {
		b.WriteString(line)
	}
}
