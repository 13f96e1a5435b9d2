package story

import (
	"fmt"
	"time"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/wire"
	"github.com/pointsman/pointsman/hostsim"
)

// engine is one worker as the story's state service knows it.
type engine struct {
	wire.Worker
	others   uint32 // in flight from other proxies
	reported bool
	load     core.LoadReport
	loadAt   time.Time
	gauge    gauge // what the filter last said
}

// service is the state service of a story. It answers syncs from what the story
// says of the fleet.
type service struct {
	clock   *hostsim.ManualClock
	engines []*engine // in the order of the story
	version uint64
	known   bool // a fleet was told
	given   map[core.WorkerID]string
	replica uint64
	losing  int    // replies still to lose; negative for all
	served  uint64 // version of the last reply that arrived
	calls   int    // syncs that came in
	fault   error
}

func newService(clock *hostsim.ManualClock) *service {
	return &service{clock: clock, given: map[core.WorkerID]string{}, replica: 1}
}

// address gives an engine its address, the same one each time it joins.
func (s *service) address(id core.WorkerID) string {
	a, ok := s.given[id]
	if !ok {
		n := len(s.given) + 1
		a = fmt.Sprintf("10.0.%d.%d:8000", n/250, n%250)
		s.given[id] = a
	}
	return a
}

// name gives the engine at an address, the address itself when there is none.
func (s *service) name(address string) string {
	for id, a := range s.given {
		if a == address {
			return string(id)
		}
	}
	return address
}

func (s *service) find(id string) *engine {
	for _, e := range s.engines {
		if string(e.ID) == id {
			return e
		}
	}
	return nil
}

// changed notes that the fleet is another one.
func (s *service) changed() { s.version++ }

// Answer implements Service. Until a fleet was told, nobody answers.
func (s *service) Answer(path string, message []byte) ([]byte, bool) {
	if path != wire.SyncPath {
		s.fault = fmt.Errorf("the filter called %s, which no story answers", path)
		return nil, false
	}
	r, err := decodeReport(message)
	if err != nil {
		s.fault = err
		return nil, false
	}
	s.calls++
	s.take(r.gauges)
	if !s.known || s.loses() {
		return nil, false
	}
	s.served = s.version
	return appendReply(nil, s.reply(&r)), true
}

func (s *service) take(gauges []gauge) {
	for _, e := range s.engines {
		e.gauge = gauge{}
	}
	for _, g := range gauges {
		if e := s.find(string(g.id)); e != nil {
			e.gauge = g
		}
	}
}

func (s *service) loses() bool {
	if s.losing > 0 {
		s.losing--
		return true
	}
	return s.losing < 0
}

func (s *service) reply(r *report) *wire.SyncReply {
	reply := &wire.SyncReply{Replica: s.replica, Version: s.version, Seq: r.seq}
	reply.Full = r.replica != s.replica || r.version != s.version
	for _, e := range s.engines {
		if reply.Full {
			reply.Workers = append(reply.Workers, e.Worker)
		}
		state := wire.WorkerState{ID: e.ID, Generation: e.Generation, OthersInflight: e.others, HasReport: e.reported}
		if e.reported {
			state.Report, state.AgeMillis = e.load, uint64(s.clock.Now().Sub(e.loadAt)/time.Millisecond)
		}
		reply.States = append(reply.States, state)
	}
	return reply
}
