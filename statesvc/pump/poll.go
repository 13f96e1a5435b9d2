package pump

import (
	"context"
	"time"

	"github.com/pointsman/pointsman/statesvc/engineapi"
)

// mostSkips bounds the intervals between polls of an engine that does not answer them.
const mostSkips = 64

// poll reads /v1/loads at every interval while the engine is up and publishes no reports
// (engine-selection.md 5.5). An engine without such a page is asked once in its life, one
// whose answers fail ever more rarely.
func (f *follower) poll(ctx context.Context) {
	ticker := time.NewTicker(f.p.o.Config.Load.IntervalMillis.Duration())
	defer ticker.Stop()
	var without uint64 // the generation that has no such page
	skip, skips := 0, 0
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if skip > 0 {
			skip--
			continue
		}
		generation, ok := f.polled()
		if !ok || generation == without {
			continue
		}
		switch err := f.pollOnce(ctx, generation); {
		case err == nil:
			skips = 0
		case engineapi.Final(err):
			without = generation
		case ctx.Err() == nil:
			f.loads.pollFailed()
			skips = min(max(2*skips, 1), mostSkips)
			skip = skips
		}
	}
}

// polled reports whether it is worth while to poll the engine, and its generation.
func (f *follower) polled() (uint64, bool) {
	s := f.latest.Load()
	if s == nil || !s.Worker.Healthy || s.Said.Config.Metrics.Disabled {
		return 0, false
	}
	return s.Worker.Generation, f.loads.quiet()
}

func (f *follower) pollOnce(ctx context.Context, generation uint64) error {
	ctx, cancel := context.WithTimeout(ctx, f.p.o.Config.Load.TimeoutMillis.Duration())
	defer cancel()
	stats, err := f.client.Loads(ctx)
	if err != nil {
		return err
	}
	f.loads.poll(generation, stats, f.p.o.Clock())
	return nil
}
