package fleet

import (
	"slices"
	"sync"

	"github.com/pointsman/pointsman/statesvc/fleet/claims"
)

// SourceStatus is one source of engines as the fleet hears it.
type SourceStatus struct {
	Source    claims.Source
	Heard     bool   // it has said something, be it that there is nothing
	Workers   int    // that it named last
	Conflicts int    // of those, that count for nothing
	Good, Bad uint64 // times that it spoke, and that it could not find out
	Error     string // of the last time; empty when that was good
}

// heard is what is kept of a source.
type heard struct {
	mu       sync.Mutex
	status   SourceStatus
	reported []claims.Conflict // that the log has
}

// Failed implements claims.Sink. The log has each reason once until it changes.
func (f *Fleet) Failed(source claims.Source, err error) {
	h := f.source(source)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.status.Bad++
	if text := err.Error(); h.status.Error != text {
		h.status.Error = text
		f.o.Logger.Warn("discovery failed; what was known stays", "source", source, "error", text)
	}
}

// Sources tells how the sources do, by rank; those that the fleet does not know of are
// left out.
func (f *Fleet) Sources() []SourceStatus {
	var list []SourceStatus
	for _, source := range claims.Sources() {
		f.mu.Lock()
		h := f.sources[source]
		f.mu.Unlock()
		if h != nil {
			h.mu.Lock()
			s := h.status
			h.mu.Unlock()
			s.Source = source
			list = append(list, s)
		}
	}
	return list
}

func (f *Fleet) source(source claims.Source) *heard {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.sources[source] == nil {
		f.sources[source] = &heard{}
	}
	return f.sources[source]
}

// sourceSpoke notes that a source said something. The caller holds mu.
func (f *Fleet) sourceSpoke(source claims.Source, workers int) {
	if f.sources[source] == nil {
		f.sources[source] = &heard{}
	}
	h := f.sources[source]
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.status.Heard && slices.Contains(f.o.Await, source) {
		f.silent--
	}
	if h.status.Error != "" {
		f.o.Logger.Info("discovery works again", "source", source, "workers", workers)
	}
	h.status.Heard, h.status.Workers, h.status.Error = true, workers, ""
	h.status.Good++
}

// noteConflicts counts the claims of each source that count for nothing, and tells of
// them when they change. The caller holds mu.
func (f *Fleet) noteConflicts(conflicts []claims.Conflict) {
	for source, h := range f.sources {
		var own []claims.Conflict
		for _, c := range conflicts {
			if c.Source == source {
				own = append(own, c)
			}
		}
		h.mu.Lock()
		h.status.Conflicts = len(own)
		for _, c := range own {
			if !slices.Contains(h.reported, c) {
				f.o.Logger.Warn("an engine that a source names is left out", "source", source, "address", c.Address, "reason", c.Reason)
			}
		}
		h.reported = own
		h.mu.Unlock()
	}
}
