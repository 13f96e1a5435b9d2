package fakes

import (
	"context"
	"errors"
	"sync"
)

// errAbortRequested is the cause of a context that /abort_request ended.
var errAbortRequested = errors.New("request was aborted by id")

// inflightTable finds open requests by their rid. One rid may name several requests.
type inflightTable struct {
	mu   sync.Mutex
	open map[string]map[*handle]struct{}
}

type handle struct{ cancel context.CancelCauseFunc }

func newInflightTable() *inflightTable {
	return &inflightTable{open: map[string]map[*handle]struct{}{}}
}

// add registers a request; the returned function removes it and frees the context.
func (t *inflightTable) add(ctx context.Context, rid string) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	h := &handle{cancel}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open[rid] == nil {
		t.open[rid] = map[*handle]struct{}{}
	}
	t.open[rid][h] = struct{}{}
	return ctx, func() { t.remove(rid, h); cancel(nil) }
}

func (t *inflightTable) remove(rid string, h *handle) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.open[rid], h)
	if len(t.open[rid]) == 0 {
		delete(t.open, rid)
	}
}

// abort ends the requests with that rid, or all of them.
func (t *inflightTable) abort(rid string, all bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !all {
		cancelAll(t.open[rid])
		return
	}
	for _, handles := range t.open {
		cancelAll(handles)
	}
}

func cancelAll(handles map[*handle]struct{}) {
	for h := range handles {
		h.cancel(errAbortRequested)
	}
}
