package story

import (
	"errors"
	"fmt"
	"slices"
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

	aborts   []abort // not printed yet
	kv       []lookup
	ids      wire.InputIDs // of chats
	bindings bindings
	holding  bool     // answers to requests' calls wait
	held     []func() // answers that wait
}

// abort is one that an engine was told.
type abort struct{ address, rid string }

// Abort implements Service.
func (s *service) Abort(address, rid string) { s.aborts = append(s.aborts, abort{address, rid}) }

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

// Call implements Service. Until a fleet was told, nobody answers. A reply is lost
// on its way back: what was asked for has happened.
func (s *service) Call(path string, message []byte, answer func(reply []byte, ok bool)) {
	reply, err := s.handle(path, message)
	if err != nil {
		s.fault = fmt.Errorf("%s: %w", path, err)
	}
	lost := err != nil || !s.known || s.loses()
	if path == wire.SyncPath && !lost {
		s.served = s.version
	}
	if path == wire.SyncPath || !s.holding {
		answer(reply, !lost)
		return
	}
	s.held = append(s.held, func() { answer(reply, !lost) })
}

func (s *service) handle(path string, message []byte) ([]byte, error) {
	switch path {
	case wire.SyncPath:
		return s.sync(message)
	case wire.ObservePath:
		return s.observe(message)
	case wire.BindPath:
		return s.bind(message)
	}
	return nil, errors.New("no story answers this call")
}

func (s *service) sync(message []byte) ([]byte, error) {
	r, err := decodeReport(message)
	if err != nil {
		return nil, err
	}
	s.calls++
	s.take(r.gauges)
	for _, u := range r.used {
		s.bindings.use(u, s.clock.Now())
	}
	return appendReply(nil, s.reply(&r)), nil
}

// observe answers with bindings, and with what kv and ids steps told. No story has
// lengths in tokens.
func (s *service) observe(message []byte) (reply []byte, err error) {
	sources, err := decodeSources(message)
	if err != nil {
		return nil, err
	}
	for i := range s.kv {
		if slices.Contains(sources, s.kv[i].source) {
			reply = appendBytes(reply, 2, s.kv[i].encode())
		}
	}
	if reply, err = s.appendIDs(reply, message); err != nil {
		return nil, err
	}
	scopes, err := decodeScopes(message)
	for _, scope := range scopes {
		reply = s.bindings.appendTo(reply, 3, scope.Digest, s.clock.Now())
	}
	return reply, err
}

func (s *service) bind(message []byte) (reply []byte, err error) {
	proposals, err := decodeProposals(message)
	for i := range proposals {
		s.bindings.bind(&proposals[i], s.clock.Now())
		reply = s.bindings.appendTo(reply, 1, proposals[i].Scope.Digest, s.clock.Now())
	}
	return reply, err
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
