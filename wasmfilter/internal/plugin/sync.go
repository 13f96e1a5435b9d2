package plugin

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/spec"
	"github.com/pointsman/pointsman/core/wire"
	"github.com/pointsman/pointsman/wasmfilter/internal/abi"
	"github.com/pointsman/pointsman/wasmfilter/internal/version"
)

// idlePoll is how often a context that never saw a stream reads the fleet, in
// milliseconds (design section 4).
const idlePoll = 1000

// firstTick is the tick of a context that waits for its first fleet, in
// milliseconds: a proxy that just started has requests waiting.
const firstTick = 20

// syncer posts the context's gauges and takes over the replies, one call at a
// time.
type syncer struct {
	tick      uint32 // milliseconds
	timeout   uint32 // milliseconds
	headers   []byte // in the host's form
	cluster   string // empty without a state service
	sawStream bool

	request wire.SyncRequest
	message wire.SyncReply // of the last reply; reused, as the next two are
	body    []byte
	buffer  []byte
	flying  bool
	call    uint32       // the host's number of the last call
	since   core.Instant // when the last call began
	began   bool
	failing bool         // the last call failed; logged once
	news    wire.History // how much of others' history is known; without runs
	done    counter
	failed  counter
}

// configure takes the headers of calls to the state service.
func (s *syncer) configure(cfg *spec.Config, headers [][2]string) {
	s.tick = spec.DefaultSync
	s.done.name = "pointsman_sync_total_outcome=ok"
	s.failed.name = "pointsman_sync_total_outcome=failed"
	if cfg.State == nil {
		return
	}
	s.tick = uint32(*cfg.State.SyncIntervalMillis)
	s.timeout = uint32(*cfg.State.TimeoutMillis)
	s.cluster = cfg.State.Cluster
	s.headers = abi.AppendPairs(nil, to(wire.SyncPath, headers))
	s.request = wire.SyncRequest{Context: key(), Proxy: cfg.Proxy, TickMillis: s.tick, FilterVersion: version.Version}
}

// key draws the context's name: contexts cannot tell which worker they are on,
// so nothing else is unique (design section 4).
func key() uint64 {
	for {
		if k := rand.Uint64(); k != 0 {
			return k
		}
	}
}

// run posts a report when one is due.
func (s *syncer) run(p *plugin, now core.Instant) {
	if s.cluster == "" || s.flying || !s.due(p, now) {
		return
	}
	s.fill(p, now)
	s.since, s.began = now, true
	call, err := abi.Call(s.cluster, s.headers, s.buffer, s.timeout)
	if err != nil {
		s.fail(fmt.Sprintf("cluster %q takes no call: %v", s.cluster, err))
		return
	}
	s.flying, s.call = true, call
}

// due reports whether it is time: at once for the first fleet, every tick for a
// context with streams or after a failure, else every idlePoll.
func (s *syncer) due(p *plugin, now core.Instant) bool {
	waited := now - s.since
	switch {
	case !s.began:
		return true
	case s.sawStream, s.failing, !p.flow.Fleet.Known():
		return 2*waited >= core.Instant(s.tick) // ticks come a little early at times
	}
	return waited >= idlePoll
}

// period is the tick to ask the host for.
func (s *syncer) period(known bool) uint32 {
	if s.cluster != "" && !known {
		return min(firstTick, s.tick)
	}
	return s.tick
}

func (s *syncer) fill(p *plugin, now core.Instant) {
	r := &s.request
	r.Seq++
	r.Replica, r.Version = p.flow.Fleet.Snapshot()
	r.Idle = !s.sawStream
	r.Workers = r.Workers[:0]
	if !r.Idle {
		r.Workers = p.flow.Fleet.Gauges(r.Workers, now, s.tick)
		r.Used = p.flow.UsedBindings(r.Used[:0])
	}
	s.tell(p)
	s.buffer = wire.AppendSyncRequest(s.buffer[:0], r)
}

// reply takes the answer to a call, which must be the one in flight.
func (s *syncer) reply(p *plugin, call uint32, headers, size int) {
	if !s.flying || call != s.call {
		return
	}
	s.flying = false
	if reason := refusal(headers); reason != "" {
		s.failBy(reason)
		return
	}
	if size > len(s.body) {
		s.body = make([]byte, size+size/4)
	}
	body, err := abi.CallBody(size, s.body)
	if err != nil {
		s.fail("the reply has no body")
		return
	}
	message := &s.message
	err = message.Decode(body)
	if err == nil && message.Seq != s.request.Seq {
		err = fmt.Errorf("the reply is to report %d, not %d", message.Seq, s.request.Seq)
	}
	if err == nil {
		err = p.flow.Fleet.Apply(message, p.clock.Now())
	}
	if err != nil {
		p.flow.Fleet.Forget()
		s.fail(err.Error())
		return
	}
	s.hear(p)
	s.done.add(1)
	if s.failing {
		s.failing = false
		abi.Log(abi.LevelInfo, "the state service answers again")
	}
	p.checkMembers()
}

// refusal says why a reply is none: the host answers for a service that is away
// with a status and text of its own (W09).
func refusal(headers int) string {
	if headers == 0 {
		return unreached + "the call was cut"
	}
	status, err := abi.CallHeader(":status")
	if err != nil {
		return unreached + "the reply has no status"
	}
	if status == "200" {
		return ""
	}
	// The host answers in plain text, the service in JSON.
	if kind, err := abi.CallHeader("content-type"); err == nil && strings.HasPrefix(kind, "application/json") {
		return "the state service answered " + status
	}
	return unreached + "the reply has status " + status
}

// unreached begins what is said of a service that gave no answer of its own.
const unreached = "the state service cannot be reached: "

// fail counts a call without an answer and logs the first of a row.
func (s *syncer) fail(reason string) { s.failBy(unreached + reason) }

// failBy is fail with the whole of what is to be said.
func (s *syncer) failBy(reason string) {
	s.failed.add(1)
	if !s.failing {
		s.failing = true
		logf(abi.LevelWarn, "%s; routing goes on with what is known", reason)
	}
}

// checkMembers warns of configured members that the fleet does not have, each
// set once.
func (p *plugin) checkMembers() {
	text := p.flow.Router.Missing(p.flow.Fleet)
	if text != p.missing && text != "" {
		abi.Log(abi.LevelWarn, text)
	}
	p.missing = text
}
