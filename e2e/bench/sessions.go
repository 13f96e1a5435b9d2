package bench

import (
	"context"
	"fmt"
	"strconv"

	"github.com/pointsman/pointsman/e2e/bench/engine"
	"github.com/pointsman/pointsman/e2e/bench/load"
	"github.com/pointsman/pointsman/e2e/bench/rig"
	"github.com/pointsman/pointsman/e2e/bench/table"
)

const (
	sessionEngines = 100     // the size of the fleet that the target is for
	sessionBody    = 4 << 10 // and the size of the body
	knownSessions  = 256
)

// sessions compares an Envoy that asks the state service about every request with
// one that asks nothing, and with one without the filter.
func (s *suite) sessions(ctx context.Context) error {
	cost := s.table("sessions", "Envoy CPU per request with calls (session_aware)",
		"ratio 3.0 with one call; falls short at 3.5",
		"requests", "calls per request", "plain, us", "with filter, us", "ratio", "added, us", "state service, us")
	cost.Notes = []string{fmt.Sprintf("%d workers, 4 KB bodies, one Envoy worker thread, %d busy connections, %d known sessions in turn. Calls are those the state service has counted, HTTP requests but for call_stream. It is a process of its own, apart from the ratio; its time includes probing every engine and reading its metrics once a second.", sessionEngines, busy, knownSessions)}
	times := s.table("sessions", "Time to the answer at a low rate, known sessions, call_stream", "", "figure", "plain", "with filter", "ratio", "added")
	times.Notes = []string{fmt.Sprintf("As above; Poisson arrivals at %d requests a second, the same instants for both.", lowRate)}
	err := s.sessionLanes(ctx, func(plain, free, bound, streamed *lane) error {
		known := inSessions("known", knownSessions)
		if err := s.sessionCost(cost, known, plain, free, bound, streamed); err != nil {
			return err
		}
		return s.sessionTimes(times, known, lanes{plain, streamed})
	})
	if err != nil {
		return err
	}
	if err := cost.Write(s.out); err != nil {
		return err
	}
	return times.Write(s.out)
}

// sessionCost has a row for requests with no, one and two calls.
func (s *suite) sessionCost(t *table.Table, known [][]byte, plain, free, bound, streamed *lane) error {
	count, round := s.perRound(sessionBody), 0
	turns := func(c *load.Client) (load.Result, error) { return c.ClosedMix(known, count) }
	begins := func(c *load.Client) (load.Result, error) {
		round++
		return c.ClosedMix(inSessions("round-"+strconv.Itoa(round), count), count)
	}
	for _, row := range []struct {
		name string
		with *lane
		run  func(*load.Client) (load.Result, error)
	}{
		{"no call (power_of_two)", free, turns},
		{"known session", bound, turns},
		{"new session", bound, begins},
		{"known session, call_stream", streamed, turns},
		{"new session, call_stream", streamed, begins},
	} {
		s.progress("sessions: %s", row.name)
		calls, all, err := s.counted(plain, row.with, row.run)
		if err != nil {
			return err
		}
		without, with := each(all[0], proxyPerRequest), each(all[1], proxyPerRequest)
		t.Row(row.name, strconv.FormatFloat(calls, 'f', 2, 64), without.Text(1), with.Text(1), with.Over(without).Text(2),
			with.Minus(without).Text(1), each(all[1], statePerRequest).Text(1))
	}
	return nil
}

// sessionTimes has rows for the time to the answer of known sessions.
func (s *suite) sessionTimes(t *table.Table, known [][]byte, l lanes) error {
	s.progress("sessions: latency")
	at := load.Poisson(s.count(200), lowRate, 1)
	all, err := l.rounds(s.Rounds, func(c *load.Client) (load.Result, error) { return c.OpenMix(known, at) })
	if err != nil {
		return err
	}
	compare(t, "whole answer, p50 ms", all, quantile(0.5, whole), 3)
	compare(t, "whole answer, p99 ms", all, quantile(0.99, whole), 3)
	return nil
}

// inSessions are n chats, each of a session of its own.
func inSessions(name string, n int) [][]byte {
	request := load.Chat(engine.Model, sessionBody, false)
	list := make([][]byte, n)
	for i := range list {
		list[i] = load.InSession(request, name+"-"+strconv.Itoa(i))
	}
	return list
}

// counted measures two lanes and counts the calls that each request of the second
// made to its state service. One run before that is not counted: it makes sessions
// known.
func (s *suite) counted(plain, with *lane, run func(*load.Client) (load.Result, error)) (perRequest float64, all [][]slice, err error) {
	if _, err := run(with.client); err != nil {
		return 0, nil, err
	}
	before, err := calls(with)
	if err != nil {
		return 0, nil, err
	}
	requests := 0
	all, err = lanes{plain, with}.rounds(s.Rounds, func(c *load.Client) (load.Result, error) {
		result, err := run(c)
		if c == with.client {
			requests += result.Requests
		}
		return result, err
	})
	if err != nil {
		return 0, nil, err
	}
	after, err := calls(with)
	return (after - before) / float64(requests), all, err
}

// calls are all calls of requests that a lane's state service has answered.
func calls(l *lane) (sum float64, err error) {
	for _, route := range []string{"observe", "bind"} {
		n, err := l.target.StateCalls(route)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

func statePerRequest(s *slice) float64 { return micros(s.state, s.Requests) }

// sessionLanes runs engines and, in front of them, an Envoy without the filter, one
// whose filter asks nothing, and two whose filters bind sessions: with an HTTP request
// for each call and with one stream for all.
func (s *suite) sessionLanes(ctx context.Context, use func(plain, free, bound, streamed *lane) error) error {
	return s.sideBySide(ctx, sessionEngines, 0, []rig.EnvoyOptions{
		{Name: "envoy"},
		{Name: "envoy with filter", Policy: powerOfTwo},
		{Name: "envoy with sessions", Policy: "session_aware"},
		{Name: "envoy with sessions, call stream", Policy: "session_aware", CallStream: true},
	}, func(l lanes) error { return use(l[0], l[1], l[2], l[3]) })
}
