package pump_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/pointsman/pointsman/statesvc/fleet"
	"github.com/pointsman/pointsman/statesvc/kvevents/engine"
	"github.com/pointsman/pointsman/statesvc/kvevents/recorded"
	"github.com/pointsman/pointsman/statesvc/kvevents/zmqtest"
	"github.com/pointsman/pointsman/statesvc/kvindex"
	"github.com/pointsman/pointsman/statesvc/pump"
	"github.com/stretchr/testify/require"
)

const recordings = "../../e2e/testdata/engines"

// recordedRun is what an engine published, and what it then found in its cache.
type recordedRun struct {
	messages []recorded.Message
	cases    []recorded.Case
	ports    []int // by rank
}

func loadRun(t *testing.T, frames, cases string) recordedRun {
	t.Helper()
	var run recordedRun
	f, err := os.Open(frames)
	require.NoError(t, err)
	defer f.Close()
	for m, err := range recorded.Messages(f) {
		require.NoError(t, err)
		run.messages = append(run.messages, m)
		if !slices.Contains(run.ports, m.Port) {
			run.ports = append(run.ports, m.Port)
		}
	}
	slices.Sort(run.ports)
	if c, err := os.Open(cases); err == nil {
		defer c.Close()
		for v, err := range recorded.Cases(c) {
			require.NoError(t, err)
			run.cases = append(run.cases, v)
		}
	}
	return run
}

// What real engines published, over real sockets: every case is predicted as the engine
// found it, except where it had emptied its cache and not said so, and where hits were
// announced again (kvindex/RATIONALE.md).
func TestPump_recordedRuns(t *testing.T) {
	runs, err := filepath.Glob(recordings + "/vllm-0*/*/frames.jsonl")
	require.NoError(t, err)
	require.NotEmpty(t, runs)
	total := 0
	for _, frames := range runs {
		dir := filepath.Dir(frames)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			run := loadRun(t, frames, filepath.Join(dir, "overlap_cases.jsonl"))
			total += replayRun(t, run)
		})
	}
	require.Greater(t, total, 100, "cases compared")
}

func replayRun(t *testing.T, run recordedRun) (compared int) {
	publishers := map[int]*zmqtest.Publisher{}
	var workers []string
	owners := map[int]kvindex.Owner{}
	for i, port := range run.ports {
		first, err := engine.Live(run.messages[slices.IndexFunc(run.messages, func(m recorded.Message) bool { return m.Port == port })].Raw())
		require.NoError(t, err)
		p := zmqtest.Start(t, string(first.Topic))
		publishers[port] = p
		id := fmt.Sprintf("rank%d", i)
		owners[port] = kvindex.Owner{Worker: id}
		workers = append(workers, fmt.Sprintf("{id: %s, address: '127.0.0.1:%d', kv: {events: %q, replay: %q}}", id, i+1, p.Endpoint(), p.Replay()))
	}
	r := start(t, quick, workers...)
	var all []fleet.Status
	for i := range run.ports {
		all = append(all, worker(fmt.Sprintf("rank%d", i), fmt.Sprintf("127.0.0.1:%d", i+1), 1))
	}
	r.set(all...)
	for _, p := range publishers {
		r.eventually("subscribed", func() bool { return p.Subscribers() == 1 })
	}
	sent := 0
	publish := func(until int) {
		for ; sent < until; sent++ {
			m, err := engine.Live(run.messages[sent].Raw())
			require.NoError(t, err)
			require.Equal(t, m.Seq, publishers[run.messages[sent].Port].Publish(m.Payload))
		}
		r.eventually("applied", func() bool { return r.applied() == uint64(sent) })
	}
	for i := range run.cases {
		c := &run.cases[i]
		publish(c.Before)
		if c.ResetPending || c.Name == "report_mode_after_evict" {
			continue
		}
		port := c.Port
		if port == 0 {
			port = run.ports[0]
		}
		require.Equal(t, c.Cached, r.tokens(c, owners[port]), "%s, %s", t.Name(), c.Name)
		compared++
	}
	publish(len(run.messages))
	for i := range run.ports {
		r.trusts(fmt.Sprintf("rank%d", i), "full", "none")
	}
	return compared
}

// applied counts the batches of all streams.
func (r *rig) applied() (n uint64) {
	for _, e := range r.pump.Engines() {
		for _, s := range e.Streams {
			n += s.Status.Counts.Batches
		}
	}
	return n
}

func (r *rig) tokens(c *recorded.Case, owner kvindex.Owner) int {
	var result pump.Result
	r.pump.Match(kvindex.Prompt{Tokens: c.Prompt, Salt: c.Salt, LoRA: c.LoRA}, &result)
	for _, m := range result.Matches {
		if m.Owner == owner {
			return m.Tokens
		}
	}
	return 0
}

// SGLang's recorded streams arrive whole and unharmed, live and by replay.
func TestPump_recordedSGLang(t *testing.T) {
	files, err := filepath.Glob(recordings + "/sglang-0.5.23/radix/*.frames.jsonl")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, frames := range files {
		name := filepath.Base(frames)
		if name == "load.frames.jsonl" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			run := loadRun(t, frames, "")
			half := len(run.messages) / 2
			var p *zmqtest.Publisher
			publish := func(list []recorded.Message) {
				for _, raw := range list {
					m, err := engine.Live(raw.Raw())
					require.NoError(t, err)
					if p == nil {
						p = zmqtest.Start(t, string(m.Topic))
					}
					p.Publish(m.Payload)
				}
			}
			publish(run.messages[:half+1])
			r := start(t, quick, fmt.Sprintf("{id: a, address: 127.0.0.1:1, kv: {events: %q, replay: %q}}", p.Endpoint(), p.Replay()))
			r.set(worker("a", "127.0.0.1:1", 1))
			r.eventually("replayed", func() bool { return r.applied() == uint64(half+1) })
			publish(run.messages[half+1:])
			r.eventually("all", func() bool { return r.applied() == uint64(len(run.messages)) })
			r.trusts("a", "full", "none")
			require.Equal(t, directly(t, run), r.pump.Index().Occupancies(nil))
		})
	}
}

// directly is what an index holds that is given the messages without sockets.
func directly(t *testing.T, run recordedRun) []kvindex.Occupancy {
	x := kvindex.New(kvindex.Config{})
	d := batchDecoder{}
	for _, raw := range run.messages {
		m, err := engine.Live(raw.Raw())
		require.NoError(t, err)
		require.NoError(t, d.Decode(m.Payload, &d.batch))
		x.ApplyBatch(kvindex.Owner{Worker: "a"}, &d.batch)
	}
	return x.Occupancies(nil)
}
