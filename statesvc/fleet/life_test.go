package fleet

import (
	"testing"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/statesvc/enginemetrics"
	"github.com/stretchr/testify/require"
)

func started(at uint64) *enginemetrics.Sample {
	return &enginemetrics.Sample{StartMillis: core.Known(at)}
}

func counted(n float64) *enginemetrics.Sample {
	return &enginemetrics.Sample{Counters: map[string]float64{"vllm:prompt_tokens_total": n}}
}

func TestLife(t *testing.T) {
	type step struct {
		do         string // begin, observe or refused
		sample     *enginemetrics.Sample
		generation uint64
		restarted  bool
	}
	cases := map[string][]step{
		"the start time numbers a life and survives any outage of ours": {
			{"begin", started(5000), 5000, false},
			{"observe", started(5000), 5000, false},
			{"refused", nil, 5000, false},
			{"begin", started(5000), 5000, false}, // a broken network, not a restart
			{"begin", started(9000), 9000, true},
		},
		"a restart between two probes": {
			{"begin", started(5000), 5000, false},
			{"observe", started(9000), 9000, true},
		},
		"counters that run backwards": {
			{"begin", counted(100), 1, false},
			{"observe", counted(150), 1, false},
			{"observe", counted(3), 2, true},
			{"begin", counted(2), 3, true},
		},
		"a refused connection when nothing else tells": {
			{"begin", counted(0), 1, false},
			{"refused", nil, 1, false},
			{"begin", counted(0), 2, true},
			{"begin", counted(0), 2, false}, // timed out in between
		},
		"no metrics at all": {
			{"refused", nil, 0, false}, // down from the start
			{"begin", nil, 1, false},
			{"begin", nil, 1, false},
			{"refused", nil, 1, false},
			{"begin", nil, 2, true},
		},
		"a start time learned late names nothing anew": {
			{"begin", nil, 1, false},
			{"observe", started(5000), 1, false},
			{"observe", started(9000), 9000, true},
		},
		"metrics too slow at a restart": {
			{"begin", started(5000), 5000, false},
			{"refused", nil, 5000, false},
			{"begin", nil, 5001, true},
			{"observe", started(9000), 5001, false},
			{"observe", started(9500), 9500, true},
		},
		"a page that lost its start time": {
			{"begin", started(5000), 5000, false},
			{"observe", counted(5), 5000, false},
			{"observe", started(5000), 5000, false},
		},
	}
	for name, steps := range cases {
		t.Run(name, func(t *testing.T) {
			var l life
			for i, s := range steps {
				restarted := false
				switch s.do {
				case "begin":
					restarted = l.begin(s.sample)
				case "observe":
					restarted = l.observe(s.sample)
				case "refused":
					l.refused()
				}
				require.Equal(t, s.restarted, restarted, "step %d", i)
				require.Equal(t, s.generation, l.generation, "step %d", i)
			}
		})
	}
}
