package enginemetrics

import (
	"math"
	"strconv"

	"github.com/pointsman/pointsman/core"
	dto "github.com/prometheus/client_model/go"
)

// perRank is one quantity by data-parallel rank.
type perRank map[string]float64

// byRank groups a family by its rank label. Series that differ in other labels
// (tensor- or pipeline-parallel ranks, model names) describe the same rank, so
// the largest counts and they are not added up. A reading that is no amount
// leaves its rank out.
func byRank(f *dto.MetricFamily, rankLabel string) perRank {
	ranks := perRank{}
	for _, m := range f.GetMetric() {
		v := value(m)
		if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
			continue
		}
		rank := label(m, rankLabel)
		if old, seen := ranks[rank]; !seen || v > old {
			ranks[rank] = v
		}
	}
	return ranks
}

// rankSet is every rank that any of the page's load metrics names.
type rankSet map[string]bool

func ranksOf(families map[string]*dto.MetricFamily, names []string, rankLabel string) rankSet {
	set := rankSet{}
	for _, name := range names {
		for _, m := range families[name].GetMetric() {
			set[label(m, rankLabel)] = true
		}
	}
	return set
}

// numbered counts the ranks that are numbered from 0 on; 0 when any is not.
func (set rankSet) numbered() int {
	for i := range len(set) {
		if !set[strconv.Itoa(i)] {
			return 0
		}
	}
	return len(set)
}

// sum adds a quantity over all ranks. It is unknown when a rank is missing, be
// it one that the page names elsewhere or one of the expected number (never a
// partial sum, engine-selection.md 5.4).
func (set rankSet) sum(q perRank, expected int) core.Count {
	if len(set) == 0 || len(set) < expected {
		return core.Count{}
	}
	sum := 0.0
	for rank := range set {
		v, ok := q[rank]
		if !ok {
			return core.Count{}
		}
		sum += v
	}
	return amount(sum)
}

// product multiplies two quantities rank by rank; a rank that lacks one of them
// is left out.
func product(a, b perRank) perRank {
	out := perRank{}
	for rank, v := range a {
		if w, ok := b[rank]; ok {
			out[rank] = v * w
		}
	}
	return out
}
