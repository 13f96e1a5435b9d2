package wire

import (
	"google.golang.org/protobuf/encoding/protowire"
)

// AppendSyncRequest appends the encoded request to dst and returns the result.
func AppendSyncRequest(dst []byte, r *SyncRequest) []byte {
	dst = appendFixed(dst, 1, r.Context)
	dst = appendString(dst, 2, r.Proxy)
	dst = appendUint(dst, 3, r.Seq)
	if r.Replica != 0 {
		dst = appendFixed(dst, 4, r.Replica)
	}
	dst = appendUint(dst, 5, r.Version)
	dst = appendBool(dst, 6, r.Idle)
	dst = appendUint(dst, 7, uint64(r.TickMillis))
	dst = appendString(dst, 8, r.FilterVersion)
	for i := range r.Workers {
		dst = appendMessage(dst, 9, func(b []byte) []byte { return appendGauge(b, &r.Workers[i]) })
	}
	for i := range r.Used {
		dst = appendMessage(dst, 10, func(b []byte) []byte { return appendUsed(b, &r.Used[i]) })
	}
	if r.History.Present {
		dst = appendMessage(dst, 11, func(b []byte) []byte { return appendHistory(b, &r.History) })
	}
	return dst
}

func appendGauge(b []byte, g *WorkerGauge) []byte {
	b = appendString(b, 1, string(g.ID))
	b = appendUint(b, 2, g.Generation)
	b = appendUint(b, 3, uint64(g.Inflight))
	if len(g.RecentAges) > 0 {
		b = appendMessage(b, 4, func(p []byte) []byte {
			for _, age := range g.RecentAges {
				p = protowire.AppendVarint(p, uint64(age))
			}
			return p
		})
	}
	b = appendUint(b, 5, uint64(g.BreakerStreak))
	b = appendBool(b, 6, g.BreakerOpen)
	if g.AnsweredAge.Known {
		b = appendKnown(b, 7, g.AnsweredAge.N)
	}
	if g.FailedAge.Known {
		b = appendKnown(b, 8, g.FailedAge.N)
	}
	return b
}

// appendMessage writes a length-delimited field whose body write appends. The
// length is written after the body, so the body moves when it needs more than
// one length byte.
func appendMessage(dst []byte, num protowire.Number, write func([]byte) []byte) []byte {
	dst = protowire.AppendTag(dst, num, protowire.BytesType)
	start := len(dst)
	dst = append(dst, 0)
	dst = write(dst)
	size := len(dst) - start - 1
	extra := protowire.SizeVarint(uint64(size)) - 1
	if extra > 0 {
		var pad [9]byte
		dst = append(dst, pad[:extra]...)
		copy(dst[start+1+extra:], dst[start+1:start+1+size])
	}
	protowire.AppendVarint(dst[start:start], uint64(size))
	return dst
}

func appendUint(b []byte, num protowire.Number, v uint64) []byte {
	if v == 0 {
		return b
	}
	return appendKnown(b, num, v)
}

// appendKnown writes a field whose presence matters, zero included.
func appendKnown(b []byte, num protowire.Number, v uint64) []byte {
	b = protowire.AppendTag(b, num, protowire.VarintType)
	return protowire.AppendVarint(b, v)
}

func appendBool(b []byte, num protowire.Number, v bool) []byte {
	if !v {
		return b
	}
	return appendKnown(b, num, 1)
}

func appendFixed(b []byte, num protowire.Number, v uint64) []byte {
	b = protowire.AppendTag(b, num, protowire.Fixed64Type)
	return protowire.AppendFixed64(b, v)
}

func appendString(b []byte, num protowire.Number, v string) []byte {
	if v == "" {
		return b
	}
	b = protowire.AppendTag(b, num, protowire.BytesType)
	return protowire.AppendString(b, v)
}
