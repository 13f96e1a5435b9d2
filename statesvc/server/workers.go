package server

import (
	"net/http"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/statesvc/board"
	"github.com/pointsman/pointsman/statesvc/enginemetrics"
	"github.com/pointsman/pointsman/statesvc/fleet"
	"github.com/pointsman/pointsman/statesvc/fleet/claims"
)

// workerList is the answer of GET /v1/workers (design section 8).
type workerList struct {
	Workers  []workerEntry `json:"workers"`
	Contexts int           `json:"contexts"` // live filter contexts
}

// workerEntry is one engine. Absent fields are not known.
type workerEntry struct {
	ID           core.WorkerID  `json:"id"`
	Address      string         `json:"address"` // empty until the name is resolved
	URL          string         `json:"url"`
	Models       []string       `json:"models"`
	Adapters     []adapterEntry `json:"adapters"`
	Role         string         `json:"role"` // plain, prefill, decode or unknown
	Healthy      bool           `json:"healthy"`
	Health       string         `json:"health"` // up, down or unknown
	Draining     bool           `json:"draining"`
	Generation   uint64         `json:"generation"`
	Recoveries   uint64         `json:"recoveries"`
	Inflight     uint64         `json:"inflight"`
	OpenBreakers int            `json:"open_breakers"`
	Load         *loadEntry     `json:"load"`
	Dialect      string         `json:"dialect,omitempty"`
	Ranks        int            `json:"dp_size,omitempty"`
	Bootstrap    int            `json:"bootstrap_port,omitempty"`
	VersionGroup string         `json:"version_group,omitempty"`
	Services     []string       `json:"services,omitempty"`
	Aborts       bool           `json:"aborts,omitempty"` // by rid
	InputIDs     bool           `json:"input_ids,omitempty"`

	Sources   []claims.Source `json:"sources,omitempty"`    // who names the worker, by rank
	DrainedBy []string        `json:"drained_by,omitempty"` // sources, or operator
	Unready   bool            `json:"not_ready,omitempty"`  // a source says that it takes no requests

	ProbeError    string `json:"probe_error,omitempty"`
	LoadError     string `json:"load_error,omitempty"`
	DescribeError string `json:"describe_error,omitempty"`
}

type adapterEntry struct {
	Name string `json:"name"`
	Base string `json:"base"`
}

type loadEntry struct {
	AgeMillis       uint64  `json:"age_ms"`
	Running         *uint64 `json:"running,omitempty"`
	Waiting         *uint64 `json:"waiting,omitempty"`
	WaitingUncached *uint64 `json:"waiting_uncached,omitempty"`
	KVUsed          *uint64 `json:"kv_used,omitempty"`
	KVTotal         *uint64 `json:"kv_total,omitempty"`
	KVCapacity      *uint64 `json:"kv_capacity,omitempty"`
	RunningCapacity *uint64 `json:"running_capacity,omitempty"`
}

// workers is GET /v1/workers.
func (s *Server) workers(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, workerList{Workers: s.entries(), Contexts: s.board.Counts().Contexts})
}

// entries joins what the fleet and the board know of each configured engine.
func (s *Server) entries() []workerEntry {
	views := map[core.WorkerID]board.View{}
	for _, v := range s.board.Workers() {
		views[v.Worker.ID] = v
	}
	entries := []workerEntry{}
	for _, status := range s.fleet.Status() {
		e := fromStatus(&status)
		if v, ok := views[e.ID]; ok {
			e.Inflight, e.OpenBreakers = v.Inflight, v.OpenBreakers
			e.Load = fromReport(v.Report, v.AgeMillis)
		}
		entries = append(entries, e)
	}
	return entries
}

func fromStatus(s *fleet.Status) workerEntry {
	w := &s.Worker
	e := workerEntry{
		ID: w.ID, Address: w.Address, URL: s.URL, Models: w.Models, Adapters: []adapterEntry{},
		Role: w.Stage.String(), Healthy: w.Healthy, Health: s.Health.String(), Draining: w.Draining,
		Generation: w.Generation, Recoveries: s.Recoveries, Ranks: w.Ranks, Bootstrap: s.BootstrapPort,
		VersionGroup: w.Version, Services: w.Services, Aborts: w.Aborts, InputIDs: w.InputIDs,
		Sources: s.Said.Sources, DrainedBy: s.Said.DrainedBy, Unready: s.Said.Unready,
		ProbeError: s.ProbeError, LoadError: s.LoadError, DescribeError: s.DescribeError,
	}
	if w.Stage == core.StageNone {
		e.Role = "unknown"
	}
	if s.Dialect != enginemetrics.DialectNone {
		e.Dialect = s.Dialect.String()
	}
	if e.Models == nil {
		e.Models = []string{}
	}
	for _, a := range w.Adapters {
		e.Adapters = append(e.Adapters, adapterEntry{Name: a.Name, Base: a.Base})
	}
	return e
}

func fromReport(r *core.LoadReport, age uint64) *loadEntry {
	if r == nil {
		return nil
	}
	return &loadEntry{
		AgeMillis: age,
		Running:   optional(&r.Running), Waiting: optional(&r.Waiting),
		WaitingUncached: optional(&r.WaitingUncached),
		KVUsed:          optional(&r.KVUsed), KVTotal: optional(&r.KVTotal),
		KVCapacity: optional(&r.KVCapacity), RunningCapacity: optional(&r.RunningCapacity),
	}
}
