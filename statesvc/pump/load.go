package pump

import (
	"sync"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/statesvc/kvevents/engine"
	"github.com/pointsman/pointsman/statesvc/kvevents/zmqsub"
	"github.com/pointsman/pointsman/statesvc/loadtable"
)

// loads are the load reports of one engine, by frames or polls, on their way to the
// board.
type loads struct {
	worker    core.WorkerID
	sink      Loads
	clock     func() core.Instant
	freshness core.Instant

	mu         sync.Mutex
	generation uint64
	frames     *loadtable.Ranks // nil without load sockets
	framed     bool             // the last frames gave a report
	framedAt   core.Instant
	polls      *loadtable.Ranks
	polled     int // ranks of the last poll
	counts     LoadCounts
}

// LoadCounts are an engine's load reports. They only grow.
type LoadCounts struct {
	Frames            uint64
	BadFrames         uint64
	Polls, PollErrors uint64
}

// renew forgets what a former process said.
func (l *loads) renew(generation uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.generation, l.framed, l.polled = generation, false, 0
	if l.frames != nil {
		l.frames = l.frames.Empty()
	}
}

// expect says how many ranks have a load socket.
func (l *loads) expect(ranks int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.frames, l.framed = nil, false
	if ranks > 0 {
		l.frames = loadtable.NewRanks(l.freshness, ranks)
	}
}

// frame takes one published report. The socket's rank is the authority
// (engine-selection.md 5.2).
func (l *loads) frame(rank uint32, payload []byte) {
	stat, err := engine.DecodeLoad(payload)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.counts.BadFrames++
		return
	}
	l.counts.Frames++
	if l.frames == nil {
		return
	}
	now := l.clock()
	l.frames.Put(rank, stat, now)
	if report, at, ok := l.frames.Report(now); ok {
		l.framed, l.framedAt = true, at
		l.sink.Report(l.worker, l.generation, report, at)
	}
}

// quiet reports whether frames give no fresh report, so that polling is worth it.
func (l *loads) quiet() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.framed || l.clock()-l.framedAt > l.freshness
}

// poll takes the reports of all ranks of one page.
func (l *loads) poll(generation uint64, stats []engine.LoadStat, at core.Instant) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if generation != l.generation {
		return
	}
	l.counts.Polls++
	if l.polled != len(stats) {
		l.polls, l.polled = loadtable.NewRanks(l.freshness, len(stats)), len(stats)
	}
	for i := range stats {
		l.polls.Put(uint32(i), stats[i], at)
	}
	if report, at, ok := l.polls.Report(at); ok {
		l.sink.Report(l.worker, generation, report, at)
	}
}

func (l *loads) pollFailed() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counts.PollErrors++
}

func (l *loads) loadCounts() LoadCounts {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.counts
}

// feed is one rank's load socket.
type feed struct {
	target target
	feed   *zmqsub.Feed
}
