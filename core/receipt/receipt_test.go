package receipt

import (
	"fmt"
	"testing"

	"github.com/pointsman/pointsman/core"
	"github.com/stretchr/testify/require"
)

func TestDescribe_chosen(t *testing.T) {
	s := Summary{Model: "demo", Input: 900, Peak: core.Known(916), Chosen: "e3", Bucket: "long", Reason: core.ReasonPowerOfTwo}
	s.Tried(Try{
		Bucket: "short", Verdict: VerdictRejected, Stage: core.StagePlain, Refused: 2,
		First: core.Rejection{Worker: "e1", Limit: "max_inflight_requests", Value: 4, Cap: 4},
	})
	s.Tried(Try{Bucket: "middle", Verdict: VerdictNoCandidates, Stage: core.StagePlain})
	s.Tried(Try{Bucket: "long", Verdict: VerdictPicked})
	s.Considered(Candidate{Worker: "e2", Inflight: 5, ReportAge: core.Known(412)})
	s.Considered(Candidate{Worker: "e3", Inflight: 1})
	require.Equal(t, `model="demo" input=900 (estimate) peak=916; short plain rejected e1: max_inflight_requests 4 of 4 and 1 more; middle plain has no candidates; long picked; chose e3 by power_of_two of 2 [e2 in-flight 5 report 412 ms old, e3 in-flight 1 no report]`, s.Describe())
}

func TestDescribe_refused_quotes_what_the_client_sent(t *testing.T) {
	s := Summary{Model: "a\n\"b", Input: 1, Source: SourceContentLength, Code: "model_not_found"}
	require.Equal(t, `model="a\n\"b" input=1 (content-length) peak=unknown; answered model_not_found`, s.Describe())
}

func TestDescribe_targets(t *testing.T) {
	s := Summary{Model: "m", Input: 1, Code: "bad_request"}
	s.Asked(nil, nil)
	require.Equal(t, `model="m" input=1 (estimate) peak=unknown; answered bad_request`, s.Describe())
	s.Asked(new(uint64(500)), new(12.5))
	require.Equal(t, `model="m" input=1 (estimate) peak=unknown ttft_slo_ms=500 tps_slo=12.5; answered bad_request`, s.Describe())
}

func TestDescribe_without_a_result(t *testing.T) {
	s := Summary{Model: "m", Input: 1}
	require.Equal(t, `model="m" input=1 (estimate) peak=unknown`, s.Describe())
}

func TestDescribe_is_bounded(t *testing.T) {
	s := Summary{Model: "m", Chosen: "e0", Reason: core.ReasonRandom}
	for i := range 20 {
		s.Tried(Try{Bucket: fmt.Sprint("b", i), Verdict: VerdictFailed})
		s.Considered(Candidate{Worker: core.WorkerID(fmt.Sprint("e", i))})
	}
	tries, n := s.Tries()
	require.Len(t, tries, MaxTries)
	require.Equal(t, 20, n)
	candidates, n := s.Candidates()
	require.Len(t, candidates, MaxCandidates)
	require.Equal(t, 20, n)
	require.Contains(t, s.Describe(), "; and 12 more buckets")
	require.Contains(t, s.Describe(), "of 20 [")
}

func TestDescribe_unlisted_candidates_are_counted(t *testing.T) {
	s := Summary{Model: "m", Source: SourceUnknown, Chosen: "e0", Reason: core.ReasonRandom}
	s.Considered(Candidate{Worker: "e0", Inflight: 2})
	s.Unlisted(99)
	s.Considered(Candidate{Worker: "e1"})
	candidates, n := s.Candidates()
	require.Equal(t, []Candidate{{Worker: "e0", Inflight: 2}, {Worker: "e1"}}, candidates)
	require.Equal(t, 101, n)
	require.Equal(t, `model="m" input=unknown peak=unknown; chose e0 by random of 101 [e0 in-flight 2 no report, e1 in-flight 0 no report, ...]`, s.Describe())
}

func TestSource_names(t *testing.T) {
	require.Equal(t, []string{"estimate", "content-length", "unknown", "token ids", "tokenizer"}, []string{SourceEstimate.String(), SourceContentLength.String(), SourceUnknown.String(), SourceTokenIDs.String(), SourceTokenizer.String()})
}

func TestSummary_costs_no_allocation(t *testing.T) {
	buffer := make([]byte, 0, 4096)
	n := testing.AllocsPerRun(100, func() {
		s := Summary{Model: "m", Chosen: "e0", Peak: core.Known(3)}
		s.Tried(Try{Bucket: "b", Verdict: VerdictPicked})
		s.Considered(Candidate{Worker: "e0"})
		buffer = s.Append(buffer[:0])
	})
	require.Zero(t, n)
}

func TestDescribe_order_of_buckets(t *testing.T) {
	s := Summary{Model: "m", Input: 1}
	s.Ordered("only")
	require.Equal(t, `model="m" input=1 (estimate) peak=unknown`, s.Describe(), "one bucket is no order")
	s.Ordered("second")
	require.Equal(t, `model="m" input=1 (estimate) peak=unknown; order only, second`, s.Describe())
	for range MaxTries {
		s.Ordered("more")
	}
	require.Contains(t, s.Describe(), "; order only, second, more")
	require.Contains(t, s.Describe(), ", ...")
}

func TestDescribe_full(t *testing.T) {
	s := Summary{Model: "m", Input: 1, Chosen: "e1", Reason: core.ReasonLoadBased}
	s.NotHad("e9", "is down")
	require.False(t, s.IsFull(), "nothing is kept unless asked for")
	s.Full()
	s.NotHad("e3", "max_running_requests 4 of 4")
	s.NotHad("e4", "drains")
	s.Tried(Try{Bucket: "short", Verdict: VerdictRejected, Stage: core.StagePlain, Refused: 1, First: core.Rejection{Worker: "e3", Limit: "max_running_requests", Value: 4, Cap: 4}})
	s.Tried(Try{Bucket: "long", Verdict: VerdictPicked})
	s.Considered(Candidate{Worker: "e1", ReportAge: core.Known(9)})
	s.Loaded(core.LoadReport{Running: core.Known(2), Waiting: core.Known(0)})
	s.Considered(Candidate{Worker: "e2", ReportAge: core.Known(9000)})
	s.Considered(Candidate{Worker: "e5"})
	require.Equal(t, `model="m" input=1 (estimate) peak=unknown; short plain rejected e3: max_running_requests 4 of 4 (e3 max_running_requests 4 of 4, e4 drains); long picked; `+
		`chose e1 by load_based of 3 [e1 in-flight 0 report 9 ms old (basic) running 2 waiting 0, e2 in-flight 0 report 9000 ms old (stale), e5 in-flight 0 no report]`, s.Describe())
}

func TestDescribe_full_is_bounded(t *testing.T) {
	s := Summary{Model: "m"}
	s.Full()
	for turn := range 2 * MaxTries {
		for e := range 2 * MaxCandidates {
			s.NotHad(core.WorkerID(fmt.Sprint("e", e)), "drains")
		}
		s.Tried(Try{Bucket: fmt.Sprint("b", turn), Verdict: VerdictNoCandidates})
	}
	require.Len(t, s.detail.verdicts, MaxTries*MaxCandidates)
	for e := range 2 * MaxCandidates {
		s.Considered(Candidate{Worker: core.WorkerID(fmt.Sprint("e", e))})
		s.Loaded(core.LoadReport{KVUsed: core.Known(uint64(e))})
	}
	require.Equal(t, uint64(MaxCandidates-1), s.detail.loads[MaxCandidates-1].KVUsed.N)
}

func TestDescribe_prefix(t *testing.T) {
	for want, s := range map[string]Summary{
		"":                                     {},
		", holding 0 tokens":                   {Matched: core.Known(0)},
		", holding 9 tokens by history":        {Matched: core.Known(9), Prefix: Prefix{Source: "history"}},
		", holding 9 tokens by local, pending": {Matched: core.Known(9), Prefix: Prefix{Source: "local", Certainty: CertaintyPending}},
		", holding 9 tokens by local, uncertain, rank 0": {Matched: core.Known(9), Prefix: Prefix{Source: "local", Certainty: CertaintyUncertain}, Rank: core.Known(0)},
		", holding 9 tokens by local, 40 ms old, pending, rank 2 by load": {
			Matched: core.Known(9), Prefix: Prefix{Source: "local", Age: core.Known(40), Certainty: CertaintyPending}, Rank: core.Known(2), RankBy: RankByLoad,
		},
		", holding 9 tokens (0 on the device) by local, uncertain": {
			Matched: core.Known(9), Prefix: Prefix{Source: "local", Device: core.Known(0), Certainty: CertaintyUncertain},
		},
		", holding 0 tokens by local, 0 ms old": {Matched: core.Known(0), Prefix: Prefix{Source: "local", Age: core.Known(0)}},
		", rank 1 by key":                       {Rank: core.Known(1), RankBy: RankByKey},
		", local unavailable":                   {Prefix: Prefix{Source: "local", Unavailable: true}},
		`, local unavailable: "down; \"why\""`:  {Prefix: Prefix{Source: "local", Unavailable: true, Why: `down; "why"`}},
	} {
		s.Model, s.Chosen, s.Reason = "m", "e0", core.ReasonCacheCandidate
		require.Contains(t, s.Describe(), "chose e0 by cache_candidate of 0"+want+" [")
	}
}
