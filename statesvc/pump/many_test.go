package pump_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/pointsman/pointsman/statesvc/fleet"
	"github.com/pointsman/pointsman/statesvc/kvevents/zmqtest"
	"github.com/pointsman/pointsman/statesvc/kvindex"
	"github.com/stretchr/testify/require"
)

// Many engines at once, each with losses, broken connections and restarts of its own: in
// the end the index holds of each what an index holds that was given its batches alone.
func TestPump_manyEngines(t *testing.T) {
	const engines = 30
	publishers := make([]*zmqtest.Publisher, engines)
	published := make([][][]byte, engines) // by the present process
	var workers []string
	var list []fleet.Status
	for i := range publishers {
		p := zmqtest.Start(t, "kv")
		publishers[i] = p
		id, address := fmt.Sprintf("e%02d", i), fmt.Sprintf("127.0.0.1:%d", i+1)
		workers = append(workers, fmt.Sprintf("{id: %s, address: %q, kv: {events: %q, replay: %q}}", id, address, p.Endpoint(), p.Replay()))
		list = append(list, worker(id, address, 1))
	}
	r := start(t, quick, workers...)
	r.set(list...)
	var all sync.WaitGroup
	for i, p := range publishers {
		all.Go(func() { published[i] = live(p, rand.New(rand.NewPCG(7, uint64(i)))) })
	}
	all.Wait()
	for i := range publishers {
		r.eventually(fmt.Sprintf("engine %d", i), func() bool {
			all := r.pump.Engines()
			if len(all) != engines || len(all[i].Streams) == 0 {
				return false
			}
			s := all[i].Streams[0]
			return s.Reason == "none" && s.Status.Last == int64(len(published[i]))-1
		})
	}
	want := kvindex.New(kvindex.Config{})
	for i := range published {
		var d batchDecoder
		for _, payload := range published[i] {
			require.NoError(t, d.Decode(payload, &d.batch))
			want.ApplyBatch(own(fmt.Sprintf("e%02d", i), 0), &d.batch)
		}
	}
	require.Equal(t, want.Occupancies(nil), r.pump.Index().Occupancies(nil))
	require.Equal(t, want.Stats().Nodes, r.pump.Index().Stats().Nodes)
	r.set()
	r.eventually("all gone", func() bool { return r.pump.Index().Stats().Nodes == 0 && len(r.pump.Engines()) == 0 })
}

// live lets a publisher live through some steps and gives what its last process said.
func live(p *zmqtest.Publisher, random *rand.Rand) (published [][]byte) {
	for range 60 {
		payload := stored(uint32(1+random.IntN(20)), 1+random.IntN(20))
		switch random.IntN(12) {
		case 0, 1:
			p.Lose(stamped(payload, random))
		case 2:
			p.Cut()
			continue
		case 3:
			if random.IntN(4) == 0 {
				p.Kill()
				p.Restart()
				published = nil
			}
			continue
		case 4:
			payload = cleared()
			p.Publish(stamped(payload, random))
		default:
			p.Publish(stamped(payload, random))
		}
		published = append(published, payload)
	}
	return published
}

// stamped gives a batch a time of its own, as those of engines have: it tells processes
// apart whose batches say the same.
func stamped(payload []byte, random *rand.Rand) []byte {
	binary.BigEndian.PutUint32(payload[4:], random.Uint32()) // behind the headers of array and float
	return payload
}
