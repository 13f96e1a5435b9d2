package pump_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/statesvc/enginetest"
	"github.com/pointsman/pointsman/statesvc/kvevents/zmqtest"
	"github.com/pointsman/pointsman/statesvc/kvindex"
	"github.com/pointsman/pointsman/statesvc/pump"
	"github.com/stretchr/testify/require"
	"github.com/tinylib/msgp/msgp"
)

func own(worker string, rank uint32) kvindex.Owner { return kvindex.Owner{Worker: worker, Rank: rank} }

// holds waits until the index knows these depths of a prompt, and no others.
func (r *rig) holds(tokens []uint32, want map[kvindex.Owner]int) {
	r.Helper()
	r.eventually(fmt.Sprintf("depths %v", want), func() bool {
		got := r.depth(tokens)
		if len(got) != len(want) {
			return false
		}
		for o, n := range want {
			if got[o] != n {
				return false
			}
		}
		return true
	})
}

// Field reports C01, C19: each rank is its own, and one that is silent is no feed.
func TestPump_vllmTellsItsRanks(t *testing.T) {
	e := enginetest.Start(t)
	p0, p1 := zmqtest.Start(t, "kv"), zmqtest.Start(t, "kv")
	vllm(e, [2]string{p0.Endpoint(), ""}, [2]string{p1.Endpoint(), ""})
	r := start(t, quick)
	trust, reason := r.pump.Trust("a")
	require.Equal(t, "none no_source", trust.String()+" "+reason)
	r.set(worker("a", e.Address(), 1))
	r.trusts("a", "none", "no_feed")
	r.eventually("subscribed", func() bool { return p0.Subscribers() == 1 && p1.Subscribers() == 1 })
	p1.Publish(stored(1, 5))
	r.holds(prompt(1, 8), map[kvindex.Owner]int{own("a", 1): 5})
	r.trusts("a", "none", "no_feed")
	p0.Publish(stored(1, 3))
	r.holds(prompt(1, 8), map[kvindex.Owner]int{own("a", 0): 3, own("a", 1): 5})
	r.trusts("a", "full", "none")
}

// What is known is as old as the last batch: of the rank that holds it, and of any.
func TestPump_age(t *testing.T) {
	e := enginetest.Start(t)
	p0, p1 := zmqtest.Start(t, "kv"), zmqtest.Start(t, "kv")
	vllm(e, [2]string{p0.Endpoint(), ""}, [2]string{p1.Endpoint(), ""})
	r := start(t, quick)
	var result pump.Result
	r.pump.Match(kvindex.Prompt{Tokens: prompt(1, 8)}, &result)
	require.False(t, result.Age.Known, "nothing was ever told")
	r.set(worker("a", e.Address(), 1))
	r.eventually("subscribed", func() bool { return p0.Subscribers() == 1 && p1.Subscribers() == 1 })
	p0.Publish(stored(1, 5))
	r.holds(prompt(1, 8), map[kvindex.Owner]int{own("a", 0): 5})
	before := time.Now()
	p1.Publish(stored(1, 3))
	r.holds(prompt(1, 8), map[kvindex.Owner]int{own("a", 0): 5, own("a", 1): 3})
	r.pump.Match(kvindex.Prompt{Tokens: prompt(1, 8)}, &result)
	require.True(t, result.Age.Known)
	require.LessOrEqual(t, result.Age.N, uint64(time.Since(before).Milliseconds())+1, "of the last batch of any")
	ages := map[uint32]uint64{}
	for _, m := range result.Matches {
		require.True(t, m.Age.Known)
		ages[m.Owner.Rank] = m.Age.N
	}
	require.LessOrEqual(t, ages[1], ages[0])
	require.GreaterOrEqual(t, ages[0], result.Age.N)
}

func TestPump_sglangTellsItsSockets(t *testing.T) {
	e := enginetest.Start(t)
	events, load := zmqtest.Start(t, "kv"), zmqtest.Start(t, "load")
	e.Set(func(s *enginetest.State) {
		s.ServerInfo = fmt.Sprintf(`{"kv_events":{"publisher":"zmq","endpoint_host":"0.0.0.0","endpoint_port_base":%d,"replay_endpoint_port_base":%d,
			"topic":"kv","dp_size":1,"load_endpoint_port_base":%d,"load_topic":"load"}}`, portOf(events.Endpoint()), portOf(events.Replay()), portOf(load.Endpoint()))
	})
	events.Publish(stored(1, 5))
	r := start(t, quick)
	r.set(worker("a", e.Address(), 1))
	r.holds(prompt(1, 8), map[kvindex.Owner]int{own("a", 0): 5})
	r.trusts("a", "full", "none")
	r.eventually("subscribed", func() bool { return load.Subscribers() == 1 })
	load.SendAs(0, loadStat(1, 2, 30, 400))
	r.eventually("basic report", func() bool { return r.last().load.Running == core.Known(1) })
	require.False(t, new(r.last().load).Native())
	load.SendAs(1, loadStat(1, 2, 30, 400, 0, 5, 60, 8, 1000, 10_000))
	load.SendAs(2, loadStat(3, 2, 30, 400, 0, 5, 60, 8, 2000, 20_000))
	r.eventually("native report", func() bool { return r.last().load.Running == core.Known(3) })
	got := r.last()
	require.Equal(t, report{"a", 1, core.LoadReport{
		Running: core.Known(3), Waiting: core.Known(2), WaitingUncached: core.Known(5), KVUsed: core.Known(30), KVTotal: core.Known(60),
		KVCapacity: core.Known(400), RunningCapacity: core.Known(8), PrefillRate: 100_000,
	}}, got)
	load.SendAs(3, loadStat(9))
	load.SendAs(4, []byte("garbage"))
	r.eventually("bad ones are counted", func() bool { return r.pump.Engines()[0].Load.BadFrames == 2 })
	require.Equal(t, got, r.last())
}

func portOf(endpoint string) (port int) {
	_, _ = fmt.Sscanf(endpoint, "tcp://127.0.0.1:%d", &port)
	return port
}

func loadStat(counts ...uint64) []byte {
	b := msgp.AppendArrayHeader(nil, uint32(1+len(counts)))
	b = msgp.AppendString(b, "LoadStat")
	for _, n := range counts {
		b = msgp.AppendUint64(b, n)
	}
	return b
}

func TestPump_loadIsPolledWhereItIsOffered(t *testing.T) {
	e := enginetest.Start(t)
	e.Set(func(s *enginetest.State) {
		s.Loads = `{"loads":[{"dp_rank":0,"num_running_reqs":3,"num_waiting_reqs":2,"num_used_tokens":1},{"dp_rank":1,"num_running_reqs":4,"num_waiting_reqs":2,"num_used_tokens":1}]}`
	})
	none := enginetest.Start(t)
	r := start(t, quick)
	r.set(worker("a", e.Address(), 7), worker("b", none.Address(), 1))
	r.eventually("polled", func() bool { return r.last().load.Running == core.Known(7) })
	require.EqualValues(t, 7, r.last().generation)
	r.eventually("asked", func() bool { return none.Calls("/v1/loads") > 0 })
	polls := r.pump.Engines()[0].Load.Polls
	r.eventually("polled again", func() bool { return r.pump.Engines()[0].Load.Polls > polls+3 })
	require.Equal(t, 1, none.Calls("/v1/loads"), "an engine without the page is not asked again")
	r.set(worker("b", none.Address(), 2))
	r.eventually("but its next life is", func() bool { return none.Calls("/v1/loads") == 2 })
}

// An engine that leaves the fleet is gone at once, whatever it still sends (C06, C55).
func TestPump_removal(t *testing.T) {
	pub := zmqtest.Start(t, "kv")
	r := start(t, quick, fmt.Sprintf("{id: a, address: 127.0.0.1:1, kv: {events: %q, replay: %q}}", pub.Endpoint(), pub.Replay()))
	r.set(worker("a", "127.0.0.1:1", 1))
	pub.Publish(stored(1, 5))
	r.holds(prompt(1, 8), map[kvindex.Owner]int{own("a", 0): 5})
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for i := uint32(0); ; i++ {
			select {
			case <-stop:
				return
			default:
				pub.Publish(stored(100+i, 2))
			}
		}
	}()
	r.set()
	r.eventually("gone", func() bool { return len(r.pump.Engines()) == 0 && r.pump.Index().Stats().Owners == 0 })
	require.Zero(t, r.pump.Index().Stats().Nodes)
	close(stop)
	<-stopped
	require.Zero(t, r.pump.Index().Stats().Owners)
	r.set(worker("a", "127.0.0.1:1", 1))
	r.holds(prompt(1, 8), map[kvindex.Owner]int{own("a", 0): 5})
}

// An engine that begins anew without events to show it is taken for empty when the fleet
// says so, and its streams stay.
func TestPump_newGeneration(t *testing.T) {
	pub := zmqtest.Start(t, "kv")
	r := start(t, quick, fmt.Sprintf("{id: a, address: 127.0.0.1:1, kv: {events: %q}}", pub.Endpoint()))
	r.set(worker("a", "127.0.0.1:1", 1))
	r.eventually("subscribed", func() bool { return pub.Subscribers() == 1 })
	pub.Publish(stored(1, 5))
	r.holds(prompt(1, 8), map[kvindex.Owner]int{own("a", 0): 5})
	pub.Kill()
	r.trusts("a", "partial", "disconnected")
	r.holds(prompt(1, 8), map[kvindex.Owner]int{own("a", 0): 5})
	r.set(worker("a", "127.0.0.1:1", 2))
	r.holds(prompt(1, 8), map[kvindex.Owner]int{})
	pub.Restart()
	r.eventually("subscribed", func() bool { return pub.Subscribers() == 1 })
	pub.Publish(stored(1, 2))
	r.holds(prompt(1, 8), map[kvindex.Owner]int{own("a", 0): 2})
	r.trusts("a", "full", "none")
}

// Field report C61: an engine that comes back elsewhere, or with other sockets.
func TestPump_socketsThatMove(t *testing.T) {
	e := enginetest.Start(t)
	one, two := zmqtest.Start(t, "kv"), zmqtest.Start(t, "kv")
	one.Publish(stored(1, 5))
	two.Publish(stored(1, 2))
	vllm(e, [2]string{one.Endpoint(), one.Replay()})
	r := start(t, quick)
	r.set(worker("a", e.Address(), 1))
	r.holds(prompt(1, 8), map[kvindex.Owner]int{own("a", 0): 5})
	vllm(e, [2]string{two.Endpoint(), two.Replay()})
	r.holds(prompt(1, 8), map[kvindex.Owner]int{own("a", 0): 2})
	vllm(e)
	r.holds(prompt(1, 8), map[kvindex.Owner]int{})
	r.trusts("a", "none", "no_source")
}

// An engine that names another's socket does not get what is the other's.
func TestPump_claimedEndpoint(t *testing.T) {
	pub := zmqtest.Start(t, "kv")
	pub.Publish(stored(1, 5))
	thief, owner := enginetest.Start(t), enginetest.Start(t)
	vllm(thief, [2]string{pub.Endpoint(), pub.Replay()})
	r := start(t, quick, fmt.Sprintf("{id: owner, address: %q, kv: {events: %q, replay: %q}}", owner.Address(), pub.Endpoint(), pub.Replay()))
	r.set(worker("thief", thief.Address(), 1))
	r.holds(prompt(1, 8), map[kvindex.Owner]int{own("thief", 0): 5})
	r.set(worker("thief", thief.Address(), 1), worker("owner", owner.Address(), 1))
	r.holds(prompt(1, 8), map[kvindex.Owner]int{own("owner", 0): 5})
	r.trusts("thief", "none", "endpoint_claimed")
	r.trusts("owner", "full", "none")
	const refused, granted = "event socket is another engine's", "event socket is this engine's now"
	r.eventually("logged", func() bool { return r.log.count(refused) > 0 })
	asked := thief.Calls("/kv_event_sources")
	r.eventually("looked at again", func() bool { return thief.Calls("/kv_event_sources") > asked+2 })
	require.Equal(t, 1, r.log.count(refused))
	r.set(worker("thief", thief.Address(), 1))
	r.holds(prompt(1, 8), map[kvindex.Owner]int{own("thief", 0): 5})
	require.Equal(t, 1, r.log.count(granted))
}

// Field report C34: an engine that does not answer holds up nobody.
func TestPump_unreachableEngine(t *testing.T) {
	dead, e := enginetest.Start(t), enginetest.Start(t)
	dead.Stop()
	pub := zmqtest.Start(t, "kv")
	pub.Publish(stored(1, 5))
	vllm(e, [2]string{pub.Endpoint(), pub.Replay()})
	r := start(t, quick)
	r.set(worker("dead", dead.Address(), 1), worker("live", e.Address(), 1))
	r.holds(prompt(1, 8), map[kvindex.Owner]int{own("live", 0): 5})
	r.trusts("dead", "none", "no_source")
	r.eventually("the reason shows", func() bool { return r.pump.Engines()[0].Error != "" })
}

func TestPump_off(t *testing.T) {
	e := enginetest.Start(t)
	pub := zmqtest.Start(t, "kv")
	vllm(e, [2]string{pub.Endpoint(), pub.Replay()})
	for name, c := range map[string][2]string{
		"all": {"version: 1\nkv: {enabled: false}\n", ""},
		"one": {"version: 1\n", fmt.Sprintf("{id: a, address: %q, kv: {disabled: true}}", e.Address())},
	} {
		t.Run(name, func(t *testing.T) {
			var workers []string
			if c[1] != "" {
				workers = []string{c[1]}
			}
			r := start(t, c[0], workers...)
			r.set(worker("a", e.Address(), 1))
			r.eventually("seen", func() bool { return len(r.pump.Engines()) == 1 })
			r.trusts("a", "none", "no_source")
			require.Zero(t, pub.Subscribers())
		})
	}
}
