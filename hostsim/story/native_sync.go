package story

import (
	"strings"
	"time"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/spec"
	"github.com/pointsman/pointsman/core/wire"
)

// What the filter logs of its surroundings. The stories hold these texts against
// the module's.
const (
	headerOnlyWarning = "this host does not show request bodies to a held request: routing by headers only (x-pointsman-model names the model). Set allow_on_headers_stop_iteration on the plugin to route by bodies"
	serviceBack       = "the state service answers again"
	serviceGone       = "the state service cannot be reached: the call was cut; routing goes on with what is known"
)

// Periods of the filter's sync in milliseconds (design section 4).
const (
	firstTick = 20
	idlePoll  = 1000
)

// nativeSync posts gauges and takes over replies.
type nativeSync struct {
	tick      uint32 // milliseconds
	on        bool   // there is a state service
	sawStream bool
	began     bool
	failing   bool
	since     core.Instant
	request   wire.SyncRequest
}

func (s *nativeSync) configure(cfg *spec.Config) {
	s.tick = spec.DefaultSync
	if cfg.State != nil {
		s.tick, s.on = uint32(*cfg.State.SyncIntervalMillis), true
	}
	s.request = wire.SyncRequest{Context: 1, Proxy: cfg.Proxy, TickMillis: s.tick}
}

func (s *nativeSync) period(known bool) time.Duration {
	tick := s.tick
	if s.on && !known {
		tick = min(firstTick, tick)
	}
	return time.Duration(tick) * time.Millisecond
}

// begin gives the message to post, nil when none is due.
func (s *nativeSync) begin(f *nativeFilter, now core.Instant) []byte {
	if !s.on || !s.due(f, now) {
		return nil
	}
	r := &s.request
	r.Seq++
	r.Replica, r.Version = f.flow.Fleet.Snapshot()
	r.Idle = !s.sawStream
	r.Workers, r.Used = r.Workers[:0], r.Used[:0]
	if !r.Idle {
		r.Workers = f.flow.Fleet.Gauges(r.Workers, now, s.tick)
		r.Used = f.flow.UsedBindings(r.Used[:0])
	}
	s.since, s.began = now, true
	return wire.AppendSyncRequest(nil, r)
}

func (s *nativeSync) due(f *nativeFilter, now core.Instant) bool {
	waited := now - s.since
	switch {
	case !s.began:
		return true
	case s.sawStream, s.failing, !f.flow.Fleet.Known():
		return 2*waited >= core.Instant(s.tick)
	}
	return waited >= idlePoll
}

// take takes a reply over.
func (s *nativeSync) take(f *nativeFilter, reply []byte, ok bool) {
	if !ok {
		s.fail(f, serviceGone)
		return
	}
	decoded, err := wire.DecodeSyncReply(reply)
	if err == nil {
		err = f.flow.Fleet.Apply(decoded, f.now())
	}
	if err != nil {
		f.flow.Fleet.Forget()
		s.fail(f, strings.Replace(serviceGone, "the call was cut", err.Error(), 1))
		return
	}
	f.counts["pointsman_sync_total_outcome=ok"]++
	if s.failing {
		s.failing = false
		f.log = append(f.log, serviceBack)
	}
	f.checkMembers()
}

func (s *nativeSync) fail(f *nativeFilter, line string) {
	f.counts["pointsman_sync_total_outcome=failed"]++
	if !s.failing {
		s.failing = true
		f.log = append(f.log, line)
	}
}

// checkMembers warns of configured members that the fleet does not have.
func (f *nativeFilter) checkMembers() {
	text := f.flow.Router.Missing(f.flow.Fleet)
	if text != f.missing && text != "" {
		f.log = append(f.log, text)
	}
	f.missing = text
}
