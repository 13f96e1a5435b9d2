package coretest

import (
	"cmp"
	"math/big"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/pressure"
)

// PressureOrder is the pairwise comparison of engine-selection.md 6 written
// down naively: a list of keys in exact arithmetic. It takes finite prefill
// rates only.
func PressureOrder(stage core.Stage, a, b pressure.Side) int {
	keys := [][2]*big.Rat{}
	add := func(x, y *big.Rat) { keys = append(keys, [2]*big.Rat{x, y}) }
	if complete(a.Report) && complete(b.Report) {
		x, y := a.Report, b.Report
		if stage != core.StageDecode {
			if x.PrefillRate > 0 && y.PrefillRate > 0 {
				add(big.NewRat(int64(cmp.Compare(queueTime(x), queueTime(y))), 1), new(big.Rat))
			}
			add(whole(x.WaitingUncached.N), whole(y.WaitingUncached.N))
		}
		add(whole(x.Waiting.N), whole(y.Waiting.N))
		add(whole(x.Running.N), whole(y.Running.N))
		if stage == core.StageDecode {
			add(share(x), share(y))
			add(whole(x.KVUsed.N), whole(y.KVUsed.N))
		}
	}
	add(whole(a.Inflight), whole(b.Inflight))
	for _, key := range keys {
		if order := key[0].Cmp(key[1]); order != 0 {
			return order
		}
	}
	return 0
}

func complete(r *core.LoadReport) bool { return r != nil && r.Native() }

func queueTime(r *core.LoadReport) float64 {
	return 1000 * float64(r.WaitingUncached.N) / r.PrefillRate
}

func whole(n uint64) *big.Rat { return new(big.Rat).SetInt(new(big.Int).SetUint64(n)) }

func share(r *core.LoadReport) *big.Rat {
	return new(big.Rat).Quo(whole(r.KVUsed.N), whole(r.KVCapacity.N))
}
