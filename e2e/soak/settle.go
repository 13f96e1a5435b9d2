package soak

import (
	"context"
	"time"

	"github.com/pointsman/pointsman/e2e/soak/engine"
	"github.com/pointsman/pointsman/e2e/soak/stage"
)

// settleWithin bounds the wait for the last charges to be released and told: a
// few ticks of 200 ms would do.
const settleWithin = 15 * time.Second

// Names of the filter's counters.
const (
	routedCounter   = "pointsman_requests_total_outcome=routed"
	releasedCounter = "pointsman_charges_released_total"
	replacedCounter = "pointsman_pick_replaced_total"
	badCounter      = "pointsman_answers_total_code=bad_request"
	noModelCounter  = "pointsman_answers_total_code=model_not_found"
	syncedCounter   = "pointsman_sync_total_outcome=ok"
)

// Settled is what is left when no client waits any more.
type Settled struct {
	Inflight int64 // as the state service counts it
	Engines  engine.Counts
	Reading  stage.Reading
}

func (s *Settled) routed() int64   { return s.Reading.Counters[routedCounter] }
func (s *Settled) released() int64 { return s.Reading.Counters[releasedCounter] }

// zero tells whether nothing is left: no request in flight anywhere, every
// charge released.
func (s *Settled) zero() bool {
	return s.Inflight == 0 && s.Engines.Open == 0 && s.routed() == s.released()
}

// syncsToSettle is how many syncs of each worker thread show that the filter has told
// all it had counted: it tells its counters with them, and one was under way.
const syncsToSettle = 8

// settle waits until nothing is left and the filter has said so, at most settleWithin.
func settle(ctx context.Context, st *stage.Stage) (*Settled, error) {
	deadline := time.Now().Add(settleWithin)
	var told int64 // syncs by which the filter has told everything, once nothing is left
	for {
		s, err := lookSettled(ctx, st)
		if err != nil || time.Now().After(deadline) {
			return s, err
		}
		synced := s.Reading.Counters[syncedCounter]
		switch {
		case !s.zero():
			told = 0
		case told == 0:
			told = synced + syncsToSettle*int64(st.Threads())
		case synced >= told:
			return s, nil
		}
		select {
		case <-ctx.Done():
			return s, ctx.Err()
		case <-time.After(poll):
		}
	}
}

func lookSettled(ctx context.Context, st *stage.Stage) (s *Settled, err error) {
	s = &Settled{}
	if s.Inflight, err = st.State.Inflight(ctx); err != nil {
		return nil, err
	}
	if s.Engines, err = st.Engines.Counts(ctx); err != nil {
		return nil, err
	}
	s.Reading, err = st.Host.Read(ctx)
	return s, err
}
