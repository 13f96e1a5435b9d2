package wire

import (
	"math"

	"github.com/pointsman/pointsman/core"
	"google.golang.org/protobuf/encoding/protowire"
)

// History is news of which engines were sent which prompts (design section 5b).
// Fields are documented in pointsman.proto.
type History struct {
	Present bool // the message has one
	Log     uint64
	Cursor  uint64
	Runs    []Run
}

// Run is boundaries of a prompt that one engine was sent, one after the other.
type Run struct {
	Worker     core.WorkerID
	Generation uint64
	Parent     uint64 // hash of the boundary before the first, 0 for none
	Hashes     []uint64
	Sizes      []uint16 // bytes from each boundary's forerunner to it
}

func appendHistory(b []byte, h *History) []byte {
	if h.Log != 0 {
		b = appendFixed(b, 1, h.Log)
	}
	b = appendUint(b, 2, h.Cursor)
	for i := range h.Runs {
		b = appendMessage(b, 3, func(b []byte) []byte { return appendRun(b, &h.Runs[i]) })
	}
	return b
}

func appendRun(b []byte, r *Run) []byte {
	b = appendString(b, 1, string(r.Worker))
	b = appendUint(b, 2, r.Generation)
	if r.Parent != 0 {
		b = appendFixed(b, 3, r.Parent)
	}
	b = appendMessage(b, 4, func(b []byte) []byte {
		for _, hash := range r.Hashes {
			b = protowire.AppendFixed64(b, hash)
		}
		return b
	})
	return appendMessage(b, 5, func(b []byte) []byte {
		for _, size := range r.Sizes {
			b = protowire.AppendVarint(b, uint64(size))
		}
		return b
	})
}

// decode reads a history, runs into the memory of former ones.
func (h *History) decode(msg []byte) error {
	h.Present = true
	rest := fields(msg)
	var f field
	for {
		more, err := rest.next(&f)
		if !more {
			return err
		}
		switch {
		case f.number == 1 && f.kind == protowire.Fixed64Type:
			h.Log = f.num
		case f.number == 2 && f.kind == protowire.VarintType:
			h.Cursor = f.num
		case f.number == 3 && f.kind == protowire.BytesType:
			if err := h.next().decode(f.raw); err != nil {
				return f.within(err)
			}
		}
	}
}

func (h *History) next() *Run {
	if n := len(h.Runs); n < cap(h.Runs) {
		h.Runs = h.Runs[:n+1]
	} else {
		h.Runs = append(h.Runs, Run{})
	}
	return &h.Runs[len(h.Runs)-1]
}

// decode keeps the worker's name where it is the same as before.
func (r *Run) decode(msg []byte) error {
	former := r.Worker
	*r = Run{Hashes: r.Hashes[:0], Sizes: r.Sizes[:0]}
	rest := fields(msg)
	var f field
	for {
		more, err := rest.next(&f)
		if !more {
			return err
		}
		if err := r.take(&f, former); err != nil {
			return f.within(err)
		}
	}
}

func (r *Run) take(f *field, former core.WorkerID) error {
	switch {
	case f.number == 1 && f.kind == protowire.BytesType:
		if r.Worker = former; string(former) != string(f.raw) {
			id, err := text(f.raw)
			r.Worker = core.WorkerID(id)
			return err
		}
	case f.number == 2 && f.kind == protowire.VarintType:
		r.Generation = f.num
	case f.number == 3 && f.kind == protowire.Fixed64Type:
		r.Parent = f.num
	case f.number == 4 && f.kind == protowire.Fixed64Type:
		r.Hashes = append(r.Hashes, f.num)
	case f.number == 4 && f.kind == protowire.BytesType:
		return r.takeHashes(f.raw)
	case f.number == 5 && f.kind == protowire.VarintType:
		r.Sizes = append(r.Sizes, sizeOf(f.num))
	case f.number == 5 && f.kind == protowire.BytesType:
		return r.takeSizes(f.raw)
	}
	return nil
}

func (r *Run) takeHashes(packed []byte) error {
	for len(packed) > 0 {
		hash, n := protowire.ConsumeFixed64(packed)
		if n < 0 {
			return protowire.ParseError(n)
		}
		r.Hashes, packed = append(r.Hashes, hash), packed[n:]
	}
	return nil
}

func (r *Run) takeSizes(packed []byte) error {
	for len(packed) > 0 {
		size, n := protowire.ConsumeVarint(packed)
		if n < 0 {
			return protowire.ParseError(n)
		}
		r.Sizes, packed = append(r.Sizes, sizeOf(size)), packed[n:]
	}
	return nil
}

// sizeOf is 0, which no boundary has, for a size that none can have.
func sizeOf(v uint64) uint16 {
	if v = uint64(uint32(v)); v > math.MaxUint16 {
		return 0
	}
	return uint16(v)
}
