package pump_test

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/statesvc/config"
	"github.com/pointsman/pointsman/statesvc/enginetest"
	"github.com/pointsman/pointsman/statesvc/fleet"
	"github.com/pointsman/pointsman/statesvc/kvevents"
	"github.com/pointsman/pointsman/statesvc/kvevents/engine"
	"github.com/pointsman/pointsman/statesvc/kvindex"
	"github.com/pointsman/pointsman/statesvc/pump"
	"github.com/stretchr/testify/require"
	"github.com/tinylib/msgp/msgp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a pump with a fleet and a board that the test plays.
type rig struct {
	*testing.T
	pump *pump.Pump
	log  diary

	workers []config.Worker // of the configuration
	mu      sync.Mutex
	fleet   []fleet.Status
	reports []report
}

// diary is a log that a test reads.
type diary struct {
	mu   sync.Mutex
	text strings.Builder
}

func (d *diary) Write(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.text.Write(p)
}

func (d *diary) count(text string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return strings.Count(d.text.String(), text)
}

type report struct {
	worker     core.WorkerID
	generation uint64
	load       core.LoadReport
}

func (r *rig) Status() []fleet.Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := append([]fleet.Status(nil), r.fleet...)
	for i := range list {
		for _, w := range r.workers {
			if w.ID == string(list[i].Worker.ID) {
				list[i].Said.Config = w
			}
		}
	}
	return list
}

func (r *rig) Report(id core.WorkerID, generation uint64, load core.LoadReport, _ core.Instant) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reports = append(r.reports, report{id, generation, load})
}

func (r *rig) last() report {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.reports) == 0 {
		return report{}
	}
	return r.reports[len(r.reports)-1]
}

// quick makes things happen fast.
const quick = `version: 1
kv: {check_ms: 200, replay_timeout_ms: 300}
load: {interval_ms: 20, freshness_ms: 2000}
introspect: {interval_ms: 100}
`

// start runs a pump. workers are lines of the fleet; none of them is in the fleet yet.
func start(t *testing.T, header string, workers ...string) *rig {
	t.Helper()
	if len(workers) == 0 {
		workers = []string{"{id: unused, address: 127.0.0.1:1}"}
	}
	cfg, err := config.Parse([]byte(header+"fleet:\n  static:\n    - "+strings.Join(workers, "\n    - ")+"\n"), func(string) string { return "" })
	require.NoError(t, err)
	r := &rig{T: t, workers: cfg.Fleet.Static}
	began := time.Now()
	r.pump = pump.New(pump.Options{
		Config: cfg, Fleet: r, Loads: r, Seed: 1, Logger: slog.New(slog.NewTextHandler(&r.log, nil)),
		Clock: func() core.Instant { return core.Instant(time.Since(began).Milliseconds()) },
	})
	r.pump.Start()
	t.Cleanup(r.pump.Stop)
	return r
}

// worker is a healthy engine of the fleet.
func worker(id, address string, generation uint64) fleet.Status {
	return fleet.Status{
		Worker: core.Worker{ID: core.WorkerID(id), Address: address, Models: []string{"m"}, Generation: generation, Healthy: true},
		URL:    "http://" + address, Health: fleet.HealthUp,
	}
}

// set makes the fleet those workers.
func (r *rig) set(list ...fleet.Status) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fleet = list
}

func (r *rig) eventually(what string, holds func() bool) {
	r.Helper()
	deadline := time.Now().Add(15 * time.Second)
	for !holds() {
		if time.Now().After(deadline) {
			require.Fail(r, what, "%+v\n%+v", r.pump.Engines(), r.pump.Index().Stats())
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// depth is the blocks that each rank holds of a prompt.
func (r *rig) depth(tokens []uint32) map[kvindex.Owner]int {
	var result pump.Result
	r.pump.Match(kvindex.Prompt{Tokens: tokens}, &result)
	out := map[kvindex.Owner]int{}
	for _, m := range result.Matches {
		out[m.Owner] = m.Blocks
	}
	return out
}

// trusts waits for a worker's trust.
func (r *rig) trusts(worker, trust, reason string) {
	r.Helper()
	r.eventually(worker+" has trust "+trust+" for "+reason, func() bool {
		t, why := r.pump.Trust(worker)
		return t.String() == trust && why == reason
	})
}

// vllm says where ranks publish, as vLLM does.
func vllm(e *enginetest.Engine, ranks ...[2]string) {
	var entries []string
	for i, r := range ranks {
		entries = append(entries, fmt.Sprintf(`"%d":{"enable_kv_cache_events":true,"publisher":"zmq","endpoint":%q,"replay_endpoint":%q,"topic":"kv"}`, i, r[0], r[1]))
	}
	e.Set(func(s *enginetest.State) { s.Sources = "{" + strings.Join(entries, ",") + "}" })
}

// prompt is n blocks of 4 tokens and one token more, from a number on.
func prompt(first uint32, blocks int) []uint32 {
	out := make([]uint32, 0, 4*blocks+1)
	for i := range 4*blocks + 1 {
		out = append(out, first+uint32(i))
	}
	return out
}

// stored is a batch that stores the blocks of a prompt; hashes are numbers from 1000*first.
func stored(first uint32, blocks int) []byte {
	return storedWith(prompt(first, blocks)[:4*blocks], blocks, uint64(first)*1000)
}

func storedWith(tokens []uint32, hashes int, name uint64) []byte {
	b := batchHeader(1)
	b = msgp.AppendMapHeader(b, 5)
	b = msgp.AppendString(msgp.AppendString(b, "type"), "BlockStored")
	b = msgp.AppendArrayHeader(msgp.AppendString(b, "block_hashes"), uint32(hashes))
	for i := range hashes {
		b = msgp.AppendUint64(b, name+uint64(i))
	}
	b = msgp.AppendNil(msgp.AppendString(b, "parent_block_hash"))
	b = msgp.AppendArrayHeader(msgp.AppendString(b, "token_ids"), uint32(len(tokens)))
	for _, token := range tokens {
		b = msgp.AppendUint32(b, token)
	}
	return msgp.AppendInt(msgp.AppendString(b, "block_size"), 4)
}

func batchHeader(events int) []byte {
	b := msgp.AppendArrayHeader(nil, 2)
	return msgp.AppendArrayHeader(msgp.AppendFloat64(b, 1.5), uint32(events))
}

func cleared() []byte {
	b := msgp.AppendMapHeader(batchHeader(1), 1)
	return msgp.AppendString(msgp.AppendString(b, "type"), "AllBlocksCleared")
}

// batchDecoder is a decoder with the batch it fills.
type batchDecoder struct {
	engine.Decoder
	batch kvevents.Batch
}
