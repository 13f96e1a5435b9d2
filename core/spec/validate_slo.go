package spec

import (
	"fmt"
	"math"
	"strconv"

	"github.com/pointsman/pointsman/core/bucket"
)

// slo checks preferences and estimates, which have an effect together only. A
// preference that is written down as disabled may stand beside estimates.
func (v *validator) slo(at string, m *Model) {
	var ttft, tps int
	for i := range m.Buckets {
		b, path := &m.Buckets[i], index(at+".buckets", i)
		if b.TTFTMillis != nil {
			ttft++
			v.estimated(path+".ttft_ms", m.TTFTSLO, "ttft_slo")
			v.between(path+".ttft_ms", b.TTFTMillis, 1, maxDuration)
		}
		if rate := b.TokensPerSecond; rate != nil {
			tps++
			v.estimated(path+".tokens_per_second", m.TPSSLO, "tps_slo")
			if !(*rate > 0) || math.IsInf(*rate, 0) {
				v.add(path+".tokens_per_second", fmt.Sprintf("%v is out of range", *rate), "use a number above 0")
			}
		}
	}
	v.preference(at+".ttft_slo", m.TTFTSLO, ttft, "ttft_ms")
	v.preference(at+".tps_slo", m.TPSSLO, tps, "tokens_per_second")
}

func (v *validator) estimated(at, preference, key string) {
	if preference == "" && v.whole.models {
		v.add(at, "has no effect without "+key, `write "`+key+`": "slo_first" or "best_effort" in the model, or leave it out`)
	}
}

func (v *validator) preference(at, name string, estimates int, estimate string) {
	p, ok := bucket.ParsePreference(name)
	switch {
	case !ok:
		v.add(at, strconv.Quote(name)+" is not a choice", use("disabled", "slo_first", "best_effort"))
	case p != bucket.PreferenceDisabled && estimates == 0 && v.whole.models:
		v.add(at, "has no effect: no bucket has "+estimate, "give at least one bucket the estimate, or leave it out")
	}
}
