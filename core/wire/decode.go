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
	for len(msg) > 0 {
		number, kind, n := protowire.ConsumeTag(msg)
		switch {
		case n < 0:
			return protowire.ParseError(n)
		case number > protowire.MaxValidNumber:
			return fmt.Errorf("field %d: the number is out of range", number)
		}
		msg = msg[n:]
		f := field{number: number, kind: kind}
		n = f.consume(msg)
		if n < 0 {
			return fmt.Errorf("field %d: %w", number, protowire.ParseError(n))
		}
		msg = msg[n:]
		if err := visit(f); err != nil {
			return fmt.Errorf("field %d: %w", number, err)
		}
	}
	return nil
}

// consume reads the field's value and returns its length, negative on error.
func (f *field) consume(b []byte) (n int) {
	switch f.kind {
	case protowire.VarintType:
		f.num, n = protowire.ConsumeVarint(b)
	case protowire.Fixed64Type:
		f.num, n = protowire.ConsumeFixed64(b)
	case protowire.BytesType:
		f.raw, n = protowire.ConsumeBytes(b)
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
	err := walk(msg, func(f field) error {
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
			r.States = append(r.States, WorkerState{})
			return decodeState(f.raw, &r.States[len(r.States)-1])
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("sync reply: %w", err)
	}
	return r, nil
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
	if f.number > 4 && f.number != 10 {
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

func decodeState(msg []byte, s *WorkerState) error {
	return walk(msg, func(f field) error {
		switch {
		case f.number == 1 && f.kind == protowire.BytesType:
			id, err := text(f.raw)
			s.ID = core.WorkerID(id)
			return err
		case f.number == 2 && f.kind == protowire.VarintType:
			s.Generation = f.num
		case f.number == 3 && f.kind == protowire.VarintType:
			s.OthersInflight = uint32(f.num)
		case f.number == 4 && f.kind == protowire.BytesType:
			s.HasReport = true
			return decodeReport(f.raw, s)
		}
		return nil
	})
}

func decodeReport(msg []byte, s *WorkerState) error {
	r := &s.Report
	counts := [...]*core.Count{2: &r.Running, 3: &r.Waiting, 4: &r.WaitingUncached, 5: &r.KVUsed, 6: &r.KVTotal, 7: &r.KVCapacity, 8: &r.RunningCapacity}
	return walk(msg, func(f field) error {
		switch {
		case f.number == 1 && f.kind == protowire.VarintType:
			s.AgeMillis = f.num
		case f.number == 9 && f.kind == protowire.Fixed64Type:
			r.PrefillRate = math.Float64frombits(f.num)
		case f.kind == protowire.VarintType && int(f.number) < len(counts) && counts[f.number] != nil:
			*counts[f.number] = core.Known(f.num)
		}
		return nil
	})
}

var errText = errors.New("the string is not valid UTF-8")

// text copies a string field out of the message.
func text(raw []byte) (string, error) {
	if !utf8.Valid(raw) {
		return "", errText
	}
	return string(raw), nil
}
