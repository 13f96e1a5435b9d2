package story

import (
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/wire"
)

// gauge is what a filter says of one engine.
type gauge struct {
	id       core.WorkerID
	inflight uint64
	streak   uint64
	open     bool
}

// report is the part of a sync request that a story's state service reads. Fields
// are those of core/wire/pointsman.proto.
type report struct {
	seq, replica, version uint64
	gauges                []gauge
	used                  []wire.UsedBinding
}

// fields calls visit for each field of a message; number holds varints and fixed
// values, raw the rest.
func fields(message []byte, visit func(field protowire.Number, number uint64, raw []byte) error) error {
	for len(message) > 0 {
		field, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return protowire.ParseError(n)
		}
		message = message[n:]
		var number uint64
		var raw []byte
		switch kind {
		case protowire.VarintType:
			number, n = protowire.ConsumeVarint(message)
		case protowire.Fixed64Type:
			number, n = protowire.ConsumeFixed64(message)
		case protowire.BytesType:
			raw, n = protowire.ConsumeBytes(message)
		default:
			n = protowire.ConsumeFieldValue(field, kind, message)
		}
		if n < 0 {
			return protowire.ParseError(n)
		}
		message = message[n:]
		if err := visit(field, number, raw); err != nil {
			return err
		}
	}
	return nil
}

func decodeReport(message []byte) (r report, err error) {
	err = fields(message, func(field protowire.Number, number uint64, raw []byte) error {
		switch field {
		case 3:
			r.seq = number
		case 4:
			r.replica = number
		case 5:
			r.version = number
		case 9:
			g, err := decodeGauge(raw)
			r.gauges = append(r.gauges, g)
			return err
		case 10:
			u, err := decodeUsed(raw)
			r.used = append(r.used, u)
			return err
		}
		return nil
	})
	if err != nil {
		return r, fmt.Errorf("sync request: %w", err)
	}
	return r, nil
}

func decodeGauge(message []byte) (g gauge, err error) {
	err = fields(message, func(field protowire.Number, number uint64, raw []byte) error {
		switch field {
		case 1:
			g.id = core.WorkerID(raw)
		case 3:
			g.inflight = number
		case 5:
			g.streak = number
		case 6:
			g.open = number != 0
		}
		return nil
	})
	return g, err
}

// appendReply encodes a reply.
func appendReply(b []byte, r *wire.SyncReply) []byte {
	b = protowire.AppendTag(b, 1, protowire.Fixed64Type)
	b = protowire.AppendFixed64(b, r.Replica)
	b = appendNumber(b, 2, r.Version)
	b = appendNumber(b, 3, protowire.EncodeBool(r.Full))
	b = appendNumber(b, 4, r.Seq)
	for i := range r.Workers {
		b = appendBytes(b, 5, encodeWorker(&r.Workers[i]))
	}
	for i := range r.States {
		b = appendBytes(b, 7, encodeState(&r.States[i]))
	}
	return b
}

func encodeWorker(w *wire.Worker) (b []byte) {
	b = appendBytes(b, 1, []byte(w.ID))
	b = appendBytes(b, 2, []byte(w.Address))
	for _, m := range w.Models {
		b = appendBytes(b, 3, []byte(m))
	}
	for _, a := range w.Adapters {
		b = appendBytes(b, 4, appendBytes(appendBytes(nil, 1, []byte(a.Name)), 2, []byte(a.Base)))
	}
	b = appendNumber(b, 5, uint64(w.Stage))
	b = appendNumber(b, 6, w.Generation)
	b = appendNumber(b, 7, protowire.EncodeBool(w.Healthy))
	b = appendNumber(b, 8, protowire.EncodeBool(w.Draining))
	b = appendNumber(b, 9, w.Recoveries)
	b = appendBytes(b, 10, []byte(w.Version))
	b = appendNumber(b, 11, protowire.EncodeBool(w.Aborts))
	for _, s := range w.Services {
		b = appendBytes(b, 12, []byte(s))
	}
	b = appendNumber(b, 14, uint64(w.Ranks))
	b = appendNumber(b, 15, protowire.EncodeBool(w.InputIDs))
	return b
}

func encodeState(s *wire.WorkerState) (b []byte) {
	b = appendBytes(b, 1, []byte(s.ID))
	b = appendNumber(b, 2, s.Generation)
	b = appendNumber(b, 3, uint64(s.OthersInflight))
	if s.HasReport {
		b = appendBytes(b, 4, encodeLoad(s))
	}
	return b
}

func encodeLoad(s *wire.WorkerState) (b []byte) {
	r := &s.Report
	b = appendNumber(b, 1, s.AgeMillis)
	for i, c := range []core.Count{r.Running, r.Waiting, r.WaitingUncached, r.KVUsed, r.KVTotal, r.KVCapacity, r.RunningCapacity} {
		if c.Known {
			b = appendNumber(b, protowire.Number(i+2), c.N)
		}
	}
	if r.PrefillRate > 0 {
		b = protowire.AppendTag(b, 9, protowire.Fixed64Type)
		b = protowire.AppendFixed64(b, math.Float64bits(r.PrefillRate))
	}
	return b
}

func appendNumber(b []byte, field protowire.Number, n uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), n)
}

func appendBytes(b []byte, field protowire.Number, raw []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), raw)
}
