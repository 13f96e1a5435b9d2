package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/pointsman/pointsman/e2e/bench/engine"
	"github.com/pointsman/pointsman/e2e/bench/load"
	"github.com/pointsman/pointsman/e2e/bench/rig"
)

const (
	historyEngines = 100 // the size of the fleet that the target is for
	historyTenants = 16  // shared system prompts
)

// history compares an Envoy that goes by what it sent where, and one that asks the
// state service what engines hold, with one that does not look at prompts, and with
// one without the filter.
func (s *suite) history(ctx context.Context) error {
	bodies := s.Bodies
	if len(bodies) == 0 {
		bodies = []int{4 << 10, 16 << 10, 64 << 10}
	}
	t := s.table("history", "Envoy CPU per request, cache-aware by history (no call) and by events (local, one call)",
		"history: ratio 1.7 at 4 KB and 100 workers, falls short at 2.2; local: 3.0, falls short at 3.5",
		"body", "policy", "plain, us", "with filter, us", "ratio", "added, us", "calls per request", "state service, us")
	t.Notes = []string{fmt.Sprintf("%d workers, one Envoy worker thread, %d busy connections. New conversations of two turns each round: a quarter of a prompt is one of %d shared system prompts, messages have 1 KB. The state service, apart from the ratio, passes on what was sent where, and probes every engine once a second; for local it reads the chat with the tokenizer of qwen3 and looks it up in an index, in which these engines announce nothing. Calls are HTTP requests but for call_stream; its stream takes bodies up to 64 KiB, which those of the last rows exceed.", historyEngines, busy, historyTenants)}
	err := s.historyLanes(ctx, func(l lanes) error {
		for _, body := range bodies {
			s.progress("history: %s bodies", bytesText(body))
			round, count := 0, s.perRound(body)
			before, err := observes(l)
			if err != nil {
				return err
			}
			all, err := l.rounds(s.Rounds, func(c *load.Client) (load.Result, error) {
				round++
				return c.ClosedMix(conversations(round, count, body), count)
			})
			if err != nil {
				return err
			}
			after, err := observes(l)
			if err != nil {
				return err
			}
			plain := each(all[0], proxyPerRequest)
			for i, name := range []string{powerOfTwo, "history", "local", "local, call_stream"} {
				filter, perRequest := each(all[i+1], proxyPerRequest), (after[i+1]-before[i+1])/float64(count*(s.Rounds+1))
				t.Row(bytesText(body), name, plain.Text(1), filter.Text(1), filter.Over(plain).Text(2), filter.Minus(plain).Text(1),
					strconv.FormatFloat(perRequest, 'f', 2, 64), each(all[i+1], statePerRequest).Text(1))
			}
		}
		return ctx.Err()
	})
	if err != nil {
		return err
	}
	return t.Write(s.out)
}

// observes counts the calls of requests that the state service of each lane has
// answered.
func observes(l lanes) (list []float64, err error) {
	for _, one := range l {
		n, err := calls(one)
		if err != nil {
			return nil, err
		}
		list = append(list, n)
	}
	return list, nil
}

// conversations are n requests of a round: first turns, then second turns of the
// same conversations.
func conversations(round, n, size int) [][]byte {
	list := make([][]byte, 0, n)
	for turn := range 2 {
		for i := range n / 2 {
			list = append(list, conversation(strconv.Itoa(round)+"-"+strconv.Itoa(i), i%historyTenants, size, turn))
		}
	}
	return list
}

// conversation is a chat of about a size: a tenant's system prompt, messages of
// 1 KB, and in the second turn an answer and a question more.
func conversation(name string, tenant, size, turn int) []byte {
	var list strings.Builder
	add := func(role, content string) {
		if list.Len() > 0 {
			list.WriteByte(',')
		}
		text, _ := json.Marshal(content) // strings always encode
		list.WriteString(`{"role":"` + role + `","content":` + string(text) + `}`)
	}
	words := func(tag string, n int) string {
		return strings.Repeat(tag+" lorem ipsum dolor ", n/(len(tag)+19)+1)[:n]
	}
	add("system", words("tenant "+strconv.Itoa(tenant), size/4))
	for i := 0; list.Len() < size-1<<10; i++ {
		add([]string{"user", "assistant"}[i%2], words(name+" "+strconv.Itoa(i), 900))
	}
	add("user", words(name, max(1, size-list.Len()-200)))
	if turn > 0 {
		add("assistant", "It is so.")
		add("user", "Why?")
	}
	return load.Post(fmt.Sprintf(`{"model":%q,"stream":false,"max_tokens":16,"messages":[%s]}`, engine.Model, list.String()))
}

// historyLanes runs engines and Envoys in front of them: without the filter, with one
// that takes no look at prompts, and with one for each cache source; that of events twice,
// with an HTTP request for each call and with one stream for all.
func (s *suite) historyLanes(ctx context.Context, use func(lanes) error) error {
	return s.sideBySide(ctx, historyEngines, 0, []rig.EnvoyOptions{
		{Name: "envoy"},
		{Name: "envoy with filter", Policy: powerOfTwo},
		{Name: "envoy by history", Policy: cacheAware, Source: "history"},
		{Name: "envoy by events", Policy: cacheAware, Source: "local", Settings: eventSettings},
		{Name: "envoy by events, call stream", Policy: cacheAware, Source: "local", Settings: eventSettings, CallStream: true},
	}, use)
}
