package breaker_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/breaker"
)

// config opens after 3 failures and refuses for 1,000 ms.
var config = breaker.Config{Threshold: 3, CoolDown: 1000}

// dispatch claims and reports at once; it reports whether it was let through.
func dispatch(b *breaker.Breaker, outcome breaker.Outcome, now core.Instant) bool {
	ticket, ok := b.Claim(now)
	if ok {
		b.Report(ticket, outcome, now)
	}
	return ok
}

// opened gives a breaker that opened at instant 0.
func opened(t *testing.T) *breaker.Breaker {
	t.Helper()
	b := breaker.New(config)
	for range 3 {
		require.True(t, dispatch(&b, breaker.Failure, 0))
	}
	require.Equal(t, breaker.Open, b.State(0))
	return &b
}

func TestBreaker_opens_at_the_threshold_of_consecutive_failures(t *testing.T) {
	b := breaker.New(config)
	dispatch(&b, breaker.Failure, 0)
	dispatch(&b, breaker.Failure, 0)
	require.Equal(t, breaker.Closed, b.State(0))
	dispatch(&b, breaker.Success, 0)
	require.Zero(t, b.Streak())
	dispatch(&b, breaker.Failure, 0)
	dispatch(&b, breaker.Failure, 0)
	require.True(t, b.Allows(0))
	dispatch(&b, breaker.Failure, 7)

	require.Equal(t, breaker.Open, b.State(7))
	require.Equal(t, uint32(3), b.Streak())
	require.False(t, b.Allows(7))
	require.False(t, dispatch(&b, breaker.Success, 1006))
}

func TestBreaker_zero_value_has_the_defaults(t *testing.T) {
	var b breaker.Breaker
	for range 3 {
		require.True(t, dispatch(&b, breaker.Failure, 5))
	}
	require.Equal(t, breaker.Open, b.State(5+29_999))
	require.Equal(t, breaker.HalfOpen, b.State(5+30_000))
}

func TestBreaker_open_for(t *testing.T) {
	b := opened(t)
	age, open := b.OpenFor(400)
	require.True(t, open)
	require.Equal(t, int64(400), age)

	dispatch(b, breaker.Success, 1000)
	_, open = b.OpenFor(1000)
	require.False(t, open)
}

func TestBreaker_clock_going_back_keeps_it_open(t *testing.T) {
	b := opened(t)
	require.Equal(t, breaker.Open, b.State(-5000))
}

func TestBreaker_half_open_lets_one_probe_through(t *testing.T) {
	b := opened(t)
	require.Equal(t, breaker.HalfOpen, b.State(1000))
	require.True(t, b.Allows(1000))
	require.True(t, b.Allows(1000), "asking claims nothing")
	_, first := b.Claim(1000)
	_, second := b.Claim(1000)
	require.True(t, first)
	require.False(t, second)
	require.False(t, b.Allows(1000))
}

func TestBreaker_probe_outcomes(t *testing.T) {
	tests := map[breaker.Outcome]struct {
		state  breaker.State
		streak uint32
		allows bool
	}{
		breaker.Success:   {breaker.Closed, 0, true},
		breaker.Neutral:   {breaker.Closed, 3, true},
		breaker.Failure:   {breaker.Open, 4, false},
		breaker.Cancelled: {breaker.HalfOpen, 3, true},
	}
	for outcome, want := range tests {
		t.Run(outcome.String(), func(t *testing.T) {
			b := opened(t)
			require.True(t, dispatch(b, outcome, 1500))
			require.Equal(t, want.state, b.State(1500))
			require.Equal(t, want.streak, b.Streak())
			require.Equal(t, want.allows, b.Allows(1500))
		})
	}
}

func TestBreaker_failed_probe_starts_a_new_cool_down(t *testing.T) {
	b := opened(t)
	require.True(t, dispatch(b, breaker.Failure, 1500))
	require.Equal(t, breaker.Open, b.State(2499))
	require.Equal(t, breaker.HalfOpen, b.State(2500))
}

// Back-pressure proves that the engine answers, not that it is well.
func TestBreaker_failure_after_a_neutral_probe_reopens(t *testing.T) {
	b := opened(t)
	dispatch(b, breaker.Neutral, 1000)
	dispatch(b, breaker.Failure, 1001)
	require.Equal(t, breaker.Open, b.State(1001))
}

func TestBreaker_silent_probe_lapses_after_the_cool_down(t *testing.T) {
	b := opened(t)
	lost, ok := b.Claim(1200)
	require.True(t, ok)
	require.False(t, b.Allows(2199))
	require.True(t, b.Allows(2200))

	second, ok := b.Claim(2200)
	require.True(t, ok)
	b.Report(lost, breaker.Success, 2300)
	require.Equal(t, breaker.HalfOpen, b.State(2300), "a former probe decides nothing")
	b.Report(lost, breaker.Failure, 2300)
	require.Equal(t, breaker.HalfOpen, b.State(2300))
	require.False(t, b.Allows(2300))
	b.Report(second, breaker.Success, 2400)
	require.Equal(t, breaker.Closed, b.State(2400))
}

func TestBreaker_probe_counts_once(t *testing.T) {
	b := opened(t)
	probe, _ := b.Claim(1000)
	b.Report(probe, breaker.Neutral, 1000)
	b.Report(probe, breaker.Failure, 1000)
	require.Equal(t, breaker.Closed, b.State(1000))
}

func TestBreaker_late_probe_counts_while_nobody_replaced_it(t *testing.T) {
	b := opened(t)
	probe, _ := b.Claim(1000)
	b.Report(probe, breaker.Success, 9000)
	require.Equal(t, breaker.Closed, b.State(9000))
}

// A burst is in flight when the breaker opens: its failures neither extend the
// cool-down nor count against the engine that recovered since.
func TestBreaker_ignores_results_of_a_former_period(t *testing.T) {
	b := breaker.New(config)
	burst := make([]breaker.Ticket, 10)
	for i := range burst {
		burst[i], _ = b.Claim(0)
	}
	for i, ticket := range burst {
		b.Report(ticket, breaker.Failure, core.Instant(i*100))
	}
	require.Equal(t, uint32(3), b.Streak())
	require.Equal(t, breaker.HalfOpen, b.State(1200), "opened by the third failure at 200")

	straggler := burst[0]
	dispatch(&b, breaker.Success, 1200)
	for range 5 {
		b.Report(straggler, breaker.Failure, 1300)
	}
	require.Equal(t, breaker.Closed, b.State(1300))
	require.Zero(t, b.Streak())
}

func TestBreaker_half_open_by_hand(t *testing.T) {
	b := opened(t)
	b.HalfOpen()
	require.Equal(t, breaker.HalfOpen, b.State(1))
	require.True(t, dispatch(b, breaker.Failure, 1))
	require.Equal(t, breaker.Open, b.State(1), "a failed probe refuses for a whole cool-down again")
	require.Equal(t, breaker.HalfOpen, b.State(1001))
}

func TestBreaker_half_open_by_hand_forgets_the_outstanding_probe(t *testing.T) {
	b := opened(t)
	former, _ := b.Claim(1000)
	b.HalfOpen()
	fresh, ok := b.Claim(1001)
	require.True(t, ok)
	b.Report(former, breaker.Failure, 1002)
	require.Equal(t, breaker.HalfOpen, b.State(1002))
	b.Report(fresh, breaker.Success, 1003)
	require.Equal(t, breaker.Closed, b.State(1003))
}

func TestBreaker_half_open_leaves_a_closed_breaker_alone(t *testing.T) {
	b := breaker.New(config)
	dispatch(&b, breaker.Failure, 0)
	ticket, _ := b.Claim(0)
	b.HalfOpen()
	require.Equal(t, breaker.Closed, b.State(0))
	b.Report(ticket, breaker.Failure, 0)
	require.Equal(t, uint32(2), b.Streak(), "tickets stay good")
}

func TestBreaker_zero_ticket_changes_nothing(t *testing.T) {
	b := breaker.New(config)
	for range 9 {
		b.Report(breaker.Ticket{}, breaker.Failure, 0)
	}
	require.Zero(t, b.Streak())
}

func TestOutcomeOf(t *testing.T) {
	tests := map[int]breaker.Outcome{
		0: breaker.Failure, 101: breaker.Failure,
		200: breaker.Success, 204: breaker.Success, 302: breaker.Success,
		400: breaker.Success, 404: breaker.Success, 422: breaker.Success, 499: breaker.Success,
		429: breaker.Neutral, 503: breaker.Neutral,
		500: breaker.Failure, 502: breaker.Failure, 504: breaker.Failure, 599: breaker.Failure, 700: breaker.Failure,
	}
	for status, want := range tests {
		require.Equal(t, want, breaker.OutcomeOf(status), "status %d", status)
	}
}

func TestBreaker_names(t *testing.T) {
	require.Equal(t, "closed", breaker.Closed.String())
	require.Equal(t, "open", breaker.Open.String())
	require.Equal(t, "half_open", breaker.HalfOpen.String())
	require.Equal(t, "none", breaker.Outcome(0).String())
}

// Client errors say nothing bad of the engine.
func TestB01_client_errors_never_open(t *testing.T) {
	b := breaker.New(config)
	for i := range 10 {
		require.True(t, dispatch(&b, breaker.OutcomeOf([]int{400, 404, 422}[i%3]), 0))
	}
	require.Equal(t, breaker.Closed, b.State(0))
}

// Back-pressure is neutral: it never opens and never hides failures.
func TestB02_back_pressure_is_neutral(t *testing.T) {
	b := breaker.New(config)
	dispatch(&b, breaker.Failure, 0)
	dispatch(&b, breaker.Failure, 0)
	for i := range 50 {
		require.True(t, dispatch(&b, breaker.OutcomeOf([]int{503, 429}[i%2]), 0))
	}
	require.Equal(t, uint32(2), b.Streak())
	require.Equal(t, breaker.Closed, b.State(0))
	dispatch(&b, breaker.OutcomeOf(500), 0)
	require.Equal(t, breaker.Open, b.State(0))
}

// A client that leaves says nothing of the engine.
func TestBreaker_cancellation_is_never_counted(t *testing.T) {
	b := breaker.New(config)
	dispatch(&b, breaker.Failure, 0)
	for range 50 {
		dispatch(&b, breaker.Cancelled, 0)
	}
	require.Equal(t, uint32(1), b.Streak())
}

func BenchmarkBreaker_claim_and_report(b *testing.B) {
	var door breaker.Breaker
	b.ReportAllocs()
	for b.Loop() {
		dispatch(&door, breaker.Success, 0)
	}
}
