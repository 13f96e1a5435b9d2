package policy_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/admission"
	"github.com/pointsman/pointsman/core/coretest"
	"github.com/pointsman/pointsman/core/policy"
)

// hashing are the defaults, on session keys.
func hashing() policy.Hashing {
	return policy.Hashing{LoadFactor: policy.DefaultLoadFactor, LoadFloor: policy.DefaultLoadFloor, PrefixBytes: policy.DefaultPrefixBytes}
}

func consistentHash(t testing.TB, h policy.Hashing, limits admission.Limits, loads policy.LoadView) *policy.ConsistentHash {
	p, err := policy.NewConsistentHash(h, limits, loads)
	require.NoError(t, err)
	return p
}

// keyed is a request of a session.
func keyed(key string) *core.PickRequest {
	req := coretest.PickRequest(1, core.StagePlain)
	req.SessionKey = key
	return req
}

// homes picks for n keys and tells where each went.
func homes(t testing.TB, engines []*core.Worker, n int) map[string]core.WorkerID {
	p := consistentHash(t, hashing(), admission.Limits{}, &coretest.Loads{})
	at := map[string]core.WorkerID{}
	for i := range n {
		key := fmt.Sprint("session-", i)
		at[key] = take(t, p, engines, keyed(key)).ID
	}
	return at
}

func TestConsistentHash_refuses_what_makes_no_sense(t *testing.T) {
	for text, change := range map[string]func(*policy.Hashing){
		"load factor 0.99": func(h *policy.Hashing) { h.LoadFactor = 0.99 },
		"load factor NaN":  func(h *policy.Hashing) { h.LoadFactor = math.NaN() },
		"load factor +Inf": func(h *policy.Hashing) { h.LoadFactor = math.Inf(1) },
		"load floor 0":     func(h *policy.Hashing) { h.LoadFloor = 0 },
		"0 prefix bytes":   func(h *policy.Hashing) { h.PrefixBytes = 0 },
	} {
		h := hashing()
		change(&h)
		_, err := policy.NewConsistentHash(h, admission.Limits{}, &coretest.Loads{})
		require.ErrorIs(t, err, core.ErrInvalid)
		require.ErrorContains(t, err, "consistent_hash: "+text)
	}
}

// Whatever the key, the proxies and the order of the candidates, one key has one
// engine, and a key's engine changes only when that engine leaves or one joins
// that the key belongs to.
func TestConsistentHash_agrees_and_moves_little(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		engines := coretest.Workers(rapid.IntRange(2, 12).Draw(rt, "n"))
		rest := append([]*core.Worker{}, engines...)
		at := rapid.IntRange(0, len(rest)-1).Draw(rt, "leaves")
		left := rest[at]
		rest = append(rest[:at], rest[at+1:]...)
		one := consistentHash(t, hashing(), admission.Limits{}, &coretest.Loads{})
		other := consistentHash(t, hashing(), admission.Limits{}, &coretest.Loads{})
		for _, key := range rapid.SliceOfN(rapid.StringN(1, 20, -1), 1, 20).Draw(rt, "keys") {
			whole := take(t, one, engines, keyed(key))
			require.Same(rt, whole, take(t, other, rapid.Permutation(engines).Draw(rt, "order"), keyed(key)))
			if whole != left {
				require.Same(rt, whole, take(t, other, rest, keyed(key)), "the key did not belong to the one that left")
			}
		}
	})
}

func TestConsistentHash_a_joining_engine_takes_its_share(t *testing.T) {
	const n = 20_000
	before, after := homes(t, coretest.Workers(9), n), homes(t, coretest.Workers(10), n)
	counts, moved := map[core.WorkerID]int{}, 0
	for key, at := range after {
		counts[at]++
		if before[key] != at {
			moved++
			require.Equal(t, core.WorkerID("w0009"), at, "keys move to the new engine only")
		}
	}
	require.InDelta(t, n/10, moved, 6*math.Sqrt(n/10))
	require.Less(t, spread(counts, 10, n), 40.0, "chi-square of 9 degrees of freedom: %v", counts)
}

// A29: IDs that are the beginning of others.
func TestA29_similar_ids_do_not_share_keys(t *testing.T) {
	var engines []*core.Worker
	for i, id := range []core.WorkerID{"h:8", "h:80", "h:800", "h:8001"} {
		w := coretest.Worker(id, core.StagePlain)
		w.Slot = i
		engines = append(engines, w)
	}
	before, after := homes(t, engines, 10_000), homes(t, append(engines[:2:2], engines[3]), 10_000)
	counts := map[core.WorkerID]int{}
	for key, at := range before {
		counts[at]++
		if at != "h:800" {
			require.Equal(t, at, after[key])
		}
	}
	require.Less(t, spread(counts, 4, 10_000), 25.0, "%v", counts)
}

// Text of the key cannot pass for text of the model or the other way round.
func TestConsistentHash_keys_cannot_be_forged_across_models(t *testing.T) {
	engines := coretest.Workers(50)
	p := consistentHash(t, hashing(), admission.Limits{}, &coretest.Loads{})
	same := 0
	for i := range 200 {
		one, other := keyed(fmt.Sprint("b", i)), keyed(fmt.Sprint("ab", i))
		one.Model, other.Model = "ma", "m"
		if take(t, p, engines, one) == take(t, p, engines, other) {
			same++
		}
	}
	require.Less(t, same, 20, "4 of 200 agree by chance")
}

// A16: one hot key fills its engines in the order of their weights, none above
// the bound, and goes home when the load falls.
func TestA16_load_is_bounded(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		engines, loads := coretest.Workers(rapid.IntRange(1, 10).Draw(rt, "n")), &coretest.Loads{}
		h := hashing()
		h.LoadFactor = rapid.Float64Range(1, 3).Draw(rt, "factor")
		h.LoadFloor = rapid.Uint64Range(1, 10).Draw(rt, "floor")
		p := consistentHash(t, h, admission.Limits{}, loads)
		for _, w := range engines {
			loads.SetInflight(w, rapid.Uint64Range(0, 30).Draw(rt, "inflight"))
		}
		for range 100 {
			total := uint64(1)
			for _, w := range engines {
				total += loads.Inflight(w)
			}
			w := take(t, p, engines, keyed("hot"))
			loads.Charge(w)
			bound := math.Ceil(h.LoadFactor * float64(total) / float64(len(engines)))
			require.LessOrEqual(rt, float64(loads.Inflight(w)), max(bound, float64(h.LoadFloor)))
		}
	})
}

func TestConsistentHash_overflow_and_return(t *testing.T) {
	engines, loads := coretest.Workers(4), &coretest.Loads{}
	p := consistentHash(t, hashing(), admission.Limits{}, loads)
	home := take(t, p, engines, keyed("s"))
	for range 8 {
		pick, err := p.Pick(engines, keyed("s"))
		require.NoError(t, err)
		require.Equal(t, core.Pick{Worker: home, Reason: core.ReasonConsistentHash}, pick, "below the floor nothing is passed over")
		loads.Charge(home)
	}
	pick, err := p.Pick(engines, keyed("s"))
	require.NoError(t, err)
	require.Equal(t, core.ReasonHashOverflow, pick.Reason)
	require.NotSame(t, home, pick.Worker)
	require.Same(t, pick.Worker, take(t, p, engines, keyed("s")), "overflow has one place too")
	loads.Release(home)
	require.Same(t, home, take(t, p, engines, keyed("s")))
}

func TestConsistentHash_bound_is_soft_and_admission_hard(t *testing.T) {
	engines, loads := coretest.Workers(2), &coretest.Loads{}
	home := take(t, consistentHash(t, hashing(), admission.Limits{}, loads), engines, keyed("s"))
	other := engines[1-home.Slot]
	loads.SetInflight(home, 100)
	full := coretest.NativeReport()
	full.KVTotal = core.Known(1000)
	loads.SetReport(other, full)
	p := consistentHash(t, hashing(), admission.Limits{MaxKVTokens: new(uint64(1000))}, loads)
	require.Same(t, home, take(t, p, engines, keyed("s")), "above the bound is better than rejected")

	loads.SetReport(home, full)
	_, err := p.Pick(engines, keyed("s"))
	var exhausted *core.NoAdmissibleError
	require.ErrorAs(t, err, &exhausted)
	require.Len(t, exhausted.Rejections, 2)

	loads.SetReport(other, coretest.NativeReport())
	pick, err := p.Pick(engines, keyed("s"))
	require.NoError(t, err)
	require.Equal(t, core.Pick{Worker: other, Reason: core.ReasonHashOverflow}, pick)
}

func TestConsistentHash_huge_loads_are_no_bound(t *testing.T) {
	engines, loads := coretest.Workers(2), &coretest.Loads{}
	for _, w := range engines {
		loads.SetInflight(w, math.MaxUint64-1)
	}
	take(t, consistentHash(t, hashing(), admission.Limits{}, loads), engines, keyed("s"))
}

// Without a key it is power_of_two, under the policy's own admission.
func TestConsistentHash_keyless(t *testing.T) {
	engines, loads := coretest.Workers(2), &coretest.Loads{}
	loads.SetInflight(engines[0], 1)
	p := consistentHash(t, hashing(), capInflight(2), loads)
	pick, err := p.Pick(engines, keyed(""))
	require.NoError(t, err)
	require.Equal(t, core.Pick{Worker: engines[1], Reason: core.ReasonNoKey}, pick)

	loads.SetInflight(engines[0], 3)
	loads.SetInflight(engines[1], 2)
	_, err = p.Pick(engines, keyed(""))
	var rejected *core.AdmissionError
	require.ErrorAs(t, err, &rejected)
	require.Equal(t, core.Rejection{Worker: "w0001", Limit: "max_inflight_requests", Value: 2, Cap: 2}, rejected.Rejection)

	req := keyed("")
	req.Rand = nil
	_, err = p.Pick(engines, req)
	require.ErrorIs(t, err, core.ErrInvalid)
}

func TestConsistentHash_key_sources(t *testing.T) {
	engines := coretest.Workers(64)
	prompt := strings.Repeat("word ", 400)
	req := keyed("s")
	req.RoutingKey, req.Prompt = "r", prompt
	for source, change := range map[policy.KeySource]func(*core.PickRequest){
		policy.KeySession: func(r *core.PickRequest) { r.SessionKey = "other" },
		policy.KeyRouting: func(r *core.PickRequest) { r.RoutingKey = "other" },
		policy.KeyPrefix:  func(r *core.PickRequest) { r.Prompt = "X" + prompt[1:] },
	} {
		h := hashing()
		h.Key = source
		p := consistentHash(t, h, admission.Limits{}, &coretest.Loads{})
		home := take(t, p, engines, req)
		for other, elsewhere := range map[policy.KeySource]func(*core.PickRequest){
			policy.KeySession: func(r *core.PickRequest) { r.SessionKey = "x" },
			policy.KeyRouting: func(r *core.PickRequest) { r.RoutingKey = "x" },
			policy.KeyPrefix:  func(r *core.PickRequest) { r.Prompt = prompt[:1024] + "another end" },
		} {
			if other == source && source != policy.KeyPrefix {
				continue
			}
			facts := *req.BucketRequest
			same := core.PickRequest{BucketRequest: &facts, Stage: req.Stage}
			elsewhere(&same)
			require.Same(t, home, take(t, p, engines, &same), "only its own key counts")
		}
		facts := *req.BucketRequest
		moved := core.PickRequest{BucketRequest: &facts, Stage: req.Stage}
		change(&moved)
		require.NotSame(t, home, take(t, p, engines, &moved))
	}
}
