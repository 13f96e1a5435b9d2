package e2e

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// totalsWatch reads the state service's totals over and over while a test runs.
type totalsWatch struct {
	stop    func()
	samples int // of use after stop
}

// watchTotals samples until stop, which fails the test when any sample was found
// wrong. judge says what is wrong with the total over all engines, empty for
// nothing. A state service that is away gives no sample.
func watchTotals(t testing.TB, s *stateService, judge func(total uint64) string) *totalsWatch {
	t.Helper()
	return watchTotalsWith(t, s, func() func(uint64) string { return judge })
}

// watchTotalsWith calls begin before each sample is taken and the function it returns
// with what was read.
func watchTotalsWith(t testing.TB, s *stateService, begin func() func(total uint64) string) *totalsWatch {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	w := &totalsWatch{}
	var wrong []string
	var wg sync.WaitGroup
	wg.Go(func() {
		for ctx.Err() == nil {
			judge := begin()
			if total, ok := s.total(); ok {
				w.samples++
				if fault := judge(total); fault != "" && len(wrong) < 10 {
					wrong = append(wrong, fault)
				}
			}
			pauseFor(ctx, 5*time.Millisecond)
		}
	})
	end := func() { cancel(); wg.Wait() }
	w.stop = func() {
		end()
		require.Empty(t, wrong)
	}
	t.Cleanup(end)
	return w
}

// total is what is in flight over all engines. One engine's total below zero
// makes it enormous.
func (s *stateService) total() (n uint64, ok bool) {
	counts, err := s.inflight()
	for _, c := range counts {
		if n+c < n {
			return c, true
		}
		n += c
	}
	return n, err == nil
}

func pauseFor(ctx context.Context, span time.Duration) {
	timer := time.NewTimer(span)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
