package wire

import (
	"errors"
	"fmt"

	"github.com/pointsman/pointsman/core"
	"google.golang.org/protobuf/encoding/protowire"
)

// DecodeObserveReply reads a reply of the state service, by the rules of
// DecodeSyncReply.
func DecodeObserveReply(msg []byte) (*ObserveReply, error) {
	r := &ObserveReply{}
	err := walk(msg, func(f field) error {
		switch {
		case f.number == 1 && f.kind == protowire.VarintType:
			r.Tokens = core.Known(f.num)
		case f.number == 2 && f.kind == protowire.BytesType:
			r.Lookups = append(r.Lookups, Lookup{})
			return decodeLookup(f.raw, &r.Lookups[len(r.Lookups)-1])
		case f.number == 3 && f.kind == protowire.BytesType:
			r.Bindings = append(r.Bindings, Binding{})
			return decodeBinding(f.raw, &r.Bindings[len(r.Bindings)-1])
		case f.number == 4 && f.kind == protowire.VarintType:
			r.Uncounted = f.num != 0
		case f.number == 5 && f.kind == protowire.BytesType:
			return decodeInputIDs(f.raw, &r.InputIDs)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("observe reply: %w", err)
	}
	return r, nil
}

// DecodeBindReply reads a reply of the state service, by the rules of
// DecodeSyncReply.
func DecodeBindReply(msg []byte) (*BindReply, error) {
	r := &BindReply{}
	err := walk(msg, func(f field) error {
		if f.number != 1 || f.kind != protowire.BytesType {
			return nil
		}
		r.Bindings = append(r.Bindings, Binding{})
		return decodeBinding(f.raw, &r.Bindings[len(r.Bindings)-1])
	})
	if err != nil {
		return nil, fmt.Errorf("bind reply: %w", err)
	}
	return r, nil
}

var errDigest = errors.New("a digest must have 16 bytes")

func decodeBinding(msg []byte, b *Binding) error {
	return walk(msg, func(f field) error {
		switch {
		case f.number == 1 && f.kind == protowire.BytesType:
			if len(f.raw) != len(b.Digest) {
				return errDigest
			}
			copy(b.Digest[:], f.raw)
		case f.number == 2 && f.kind == protowire.VarintType:
			b.State = stateOf(f.num)
		case f.number == 3 && f.kind == protowire.BytesType:
			id, err := text(f.raw)
			b.Worker = core.WorkerID(id)
			return err
		}
		return nil
	})
}

// stateOf maps the wire's enum; what this reader does not know is unavailable.
func stateOf(v uint64) BindingState {
	if uint32(v) > uint32(BindingBound) {
		return BindingUnavailable
	}
	return BindingState(uint32(v))
}

// outcomeOf maps the wire's enum; what this reader does not know is unavailable.
func outcomeOf(v uint64) LookupOutcome {
	if uint32(v) > uint32(LookupInvalid) {
		return LookupUnavailable
	}
	return LookupOutcome(uint32(v))
}

func decodeLookup(msg []byte, l *Lookup) error {
	return walk(msg, func(f field) (err error) {
		switch {
		case f.number == 1 && f.kind == protowire.BytesType:
			l.Source, err = text(f.raw)
		case f.number == 2 && f.kind == protowire.VarintType:
			l.Outcome = outcomeOf(f.num)
		case f.number == 3 && f.kind == protowire.VarintType:
			l.Blocks = f.num
		case f.number == 4 && f.kind == protowire.BytesType:
			l.Detail, err = text(f.raw)
		case f.number == 5 && f.kind == protowire.BytesType:
			l.Depths = append(l.Depths, Depth{})
			err = decodeDepth(f.raw, &l.Depths[len(l.Depths)-1])
		case f.number == 6 && f.kind == protowire.VarintType:
			l.Age = core.Known(f.num)
		case f.number == 7 && f.kind == protowire.VarintType:
			l.Shared = f.num
		}
		return err
	})
}

func decodeDepth(msg []byte, d *Depth) error {
	return walk(msg, func(f field) (err error) {
		switch {
		case f.number == 1 && f.kind == protowire.BytesType:
			id, err := text(f.raw)
			d.Worker = core.WorkerID(id)
			return err
		case f.number == 2 && f.kind == protowire.VarintType:
			d.Blocks = f.num
		case f.number == 3 && f.kind == protowire.VarintType:
			d.DeviceBlocks = core.Known(f.num)
		case f.number == 4 && f.kind == protowire.VarintType:
			d.Uncertain = f.num != 0
		case f.number == 5 && f.kind == protowire.VarintType:
			d.Rank = core.Known(uint64(uint32(f.num)))
		case f.number == 6:
			d.Ranks, err = appendUints(d.Ranks, &f)
		case f.number == 7 && f.kind == protowire.VarintType:
			d.Age = core.Known(f.num)
		}
		return err
	})
}
