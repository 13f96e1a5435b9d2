package wire

import (
	"errors"
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/pointsman/pointsman/core"
	"google.golang.org/protobuf/encoding/protowire"
)

// field is one decoded protobuf field. num carries varints and fixed values,
// raw length-delimited bodies; a raw slice aliases the input.
type field struct {
	number protowire.Number
	kind   protowire.Type
	num    uint64
	raw    []byte
}

// walk calls visit for each field of a message. A truncated or malformed
// message ends the walk with an error.
func walk(msg []byte, visit func(field) error) error {
	rest := fields(msg)
	var f field
	for {
		more, err := rest.next(&f)
		if !more {
			return err
		}
		if err := visit(f); err != nil {
			return f.within(err)
		}
	}
}

// fields is what is left of a message.
type fields []byte

// next reads the next field; false means the end or an error.
func (rest *fields) next(f *field) (more bool, err error) {
	msg := *rest
	if len(msg) == 0 {
		return false, nil
	}
	n := 1
	if tag := msg[0]; tag>>3 > 0 && tag < 0x80 {
		f.number, f.kind = protowire.Number(tag>>3), protowire.Type(tag&7)
	} else if f.number, f.kind, n = protowire.ConsumeTag(msg); n < 0 {
		return false, protowire.ParseError(n)
	}
	if f.number > protowire.MaxValidNumber {
		return false, fmt.Errorf("field %d: the number is out of range", f.number)
	}
	msg = msg[n:]
	if n = f.consume(msg); n < 0 {
		return false, f.within(protowire.ParseError(n))
	}
	*rest = msg[n:]
	return true, nil
}

func (f *field) within(err error) error { return fmt.Errorf("field %d: %w", f.number, err) }

// consume reads the field's value and returns its length, negative on error.
// Most values are one byte long, and most texts shorter than 128.
func (f *field) consume(b []byte) (n int) {
	f.num, f.raw = 0, nil
	short := len(b) > 0 && b[0] < 0x80
	switch {
	case f.kind == protowire.VarintType && short:
		f.num, n = uint64(b[0]), 1
	case f.kind == protowire.VarintType:
		f.num, n = protowire.ConsumeVarint(b)
	case f.kind == protowire.BytesType && short && int(b[0]) < len(b):
		n = 1 + int(b[0])
		f.raw = b[1:n:n]
	case f.kind == protowire.BytesType:
		f.raw, n = protowire.ConsumeBytes(b)
	case f.kind == protowire.Fixed64Type:
		f.num, n = protowire.ConsumeFixed64(b)
	default:
		n = protowire.ConsumeFieldValue(f.number, f.kind, b)
	}
	return n
}

// DecodeSyncReply reads a reply of the state service. Fields of an unknown
// number or another type are skipped, as protobuf readers do; invalid UTF-8 in
// a string and a truncated message are errors.
func DecodeSyncReply(msg []byte) (*SyncReply, error) {
	r := &SyncReply{}
	if err := r.Decode(msg); err != nil {
		return nil, err
	}
	return r, nil
}

// Decode is DecodeSyncReply into a reply that is used again, for one that comes
// every tick: what it held is overwritten, but for the workers, whose texts and
// lists are new. After an error the reply holds nothing of use.
func (r *SyncReply) Decode(msg []byte) error {
	*r = SyncReply{Removed: r.Removed[:0], States: r.States[:0], History: History{Runs: r.History.Runs[:0]}}
	rest := fields(msg)
	var f field
	for {
		more, err := rest.next(&f)
		if more {
			if err = r.take(&f); err != nil {
				err = f.within(err)
			}
		}
		if err != nil {
			return fmt.Errorf("sync reply: %w", err)
		}
		if !more {
			return nil
		}
	}
}

func (r *SyncReply) take(f *field) error {
	switch {
	case f.number == 1 && f.kind == protowire.Fixed64Type:
		r.Replica = f.num
	case f.number == 2 && f.kind == protowire.VarintType:
		r.Version = f.num
	case f.number == 3 && f.kind == protowire.VarintType:
		r.Full = f.num != 0
	case f.number == 4 && f.kind == protowire.VarintType:
		r.Seq = f.num
	case f.number == 5 && f.kind == protowire.BytesType:
		r.Workers = append(r.Workers, Worker{})
		return decodeWorker(f.raw, &r.Workers[len(r.Workers)-1])
	case f.number == 6 && f.kind == protowire.BytesType:
		id, err := text(f.raw)
		r.Removed = append(r.Removed, core.WorkerID(id))
		return err
	case f.number == 7 && f.kind == protowire.BytesType:
		s, former := r.nextState()
		return decodeState(f.raw, s, former)
	case f.number == 8 && f.kind == protowire.BytesType:
		return r.History.decode(f.raw)
	}
	return nil
}

// nextState adds a state. Where there was one before it gives its ID, which is
// most often the same again.
func (r *SyncReply) nextState() (s *WorkerState, former core.WorkerID) {
	n := len(r.States)
	if n == cap(r.States) {
		r.States = append(r.States, WorkerState{})
		return &r.States[n], ""
	}
	r.States = r.States[:n+1]
	s = &r.States[n]
	former = s.ID
	*s = WorkerState{}
	return s, former
}

func decodeWorker(msg []byte, w *Worker) error {
	return walk(msg, func(f field) error {
		switch f.kind {
		case protowire.BytesType:
			return w.setText(f)
		case protowire.VarintType:
			w.setNumber(f)
		}
		return nil
	})
}

func (w *Worker) setText(f field) error {
	if f.number == 4 {
		w.Adapters = append(w.Adapters, core.Adapter{})
		return decodeAdapter(f.raw, &w.Adapters[len(w.Adapters)-1])
	}
	if f.number > 4 && f.number != 10 && f.number != 12 {
		return nil
	}
	s, err := text(f.raw)
	switch f.number {
	case 1:
		w.ID = core.WorkerID(s)
	case 2:
		w.Address = s
	case 3:
		w.Models = append(w.Models, s)
	case 10:
		w.Version = s
	case 12:
		w.Services = append(w.Services, s)
	}
	return err
}

func (w *Worker) setNumber(f field) {
	switch f.number {
	case 5:
		w.Stage = stageOf(f.num)
	case 6:
		w.Generation = f.num
	case 7:
		w.Healthy = f.num != 0
	case 8:
		w.Draining = f.num != 0
	case 9:
		w.Recoveries = f.num
	case 11:
		w.Aborts = f.num != 0
	case 14:
		w.Ranks = uint32(f.num)
	case 15:
		w.InputIDs = f.num != 0
	}
}

// stageOf maps the wire's enum, 32 bits of a varint. A stage this reader does
// not know is none, so that such a worker is never a candidate.
func stageOf(v uint64) core.Stage {
	if uint32(v) > uint32(core.StageDecode) {
		return core.StageNone
	}
	return core.Stage(uint32(v))
}

func decodeAdapter(msg []byte, a *core.Adapter) error {
	return walk(msg, func(f field) error {
		if f.kind != protowire.BytesType || f.number > 2 {
			return nil
		}
		s, err := text(f.raw)
		switch f.number {
		case 1:
			a.Name = s
		case 2:
			a.Base = s
		}
		return err
	})
}

// decodeState takes the ID from before where it is the same, and so allocates
// nothing.
func decodeState(msg []byte, s *WorkerState, former core.WorkerID) error {
	rest := fields(msg)
	var f field
	for {
		more, err := rest.next(&f)
		if !more {
			return err
		}
		switch {
		case f.number == 1 && f.kind == protowire.BytesType:
			if err := s.setID(f.raw, former); err != nil {
				return f.within(err)
			}
		case f.number == 2 && f.kind == protowire.VarintType:
			s.Generation = f.num
		case f.number == 3 && f.kind == protowire.VarintType:
			s.OthersInflight = uint32(f.num)
		case f.number == 4 && f.kind == protowire.BytesType:
			s.HasReport = true
			if err := decodeReport(f.raw, s); err != nil {
				return f.within(err)
			}
		}
	}
}

func (s *WorkerState) setID(raw []byte, former core.WorkerID) error {
	if former != "" && string(former) == string(raw) {
		s.ID = former
		return nil
	}
	id, err := text(raw)
	s.ID = core.WorkerID(id)
	return err
}

func decodeReport(msg []byte, s *WorkerState) error {
	rest := fields(msg)
	var f field
	for {
		more, err := rest.next(&f)
		if !more {
			return err
		}
		switch f.kind {
		case protowire.VarintType:
			s.setCount(&f)
		case protowire.Fixed64Type:
			if f.number == 9 {
				s.Report.PrefillRate = math.Float64frombits(f.num)
			}
		}
	}
}

func (s *WorkerState) setCount(f *field) {
	r := &s.Report
	switch f.number {
	case 1:
		s.AgeMillis = f.num
	case 2:
		r.Running = core.Known(f.num)
	case 3:
		r.Waiting = core.Known(f.num)
	case 4:
		r.WaitingUncached = core.Known(f.num)
	case 5:
		r.KVUsed = core.Known(f.num)
	case 6:
		r.KVTotal = core.Known(f.num)
	case 7:
		r.KVCapacity = core.Known(f.num)
	case 8:
		r.RunningCapacity = core.Known(f.num)
	}
}

var errText = errors.New("the string is not valid UTF-8")

// text copies a string field out of the message.
func text(raw []byte) (string, error) {
	if !utf8.Valid(raw) {
		return "", errText
	}
	return string(raw), nil
}
