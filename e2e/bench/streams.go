package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/pointsman/pointsman/e2e/bench/engine"
	"github.com/pointsman/pointsman/e2e/bench/load"
	"github.com/pointsman/pointsman/e2e/bench/table"
)

// streaming is how many streams are open at once, chunkInterval what lies
// between the chunks of one.
const (
	streaming     = 40
	chunkInterval = 5 * time.Millisecond
)

// streams compares what a streamed chunk costs.
func (s *suite) streams(ctx context.Context) error {
	t := s.table("streams", "Streamed answers",
		"no guest call per chunk (section guest counts them); CPU per chunk is the host's",
		"figure", "plain", "with filter", "ratio", "added")
	t.Notes = []string{fmt.Sprintf("4 workers, %d streams at once on kept-alive connections, %d chunks of %d bytes, %v apart, 1 KB bodies. CPU is that of the whole stream, its request included.", streaming, engine.Chunks, engine.ChunkBytes, chunkInterval)}
	request, count := load.Chat(engine.Model, 1<<10, true), s.count(2*streaming)
	err := s.fleetOf(ctx, 4, chunkInterval, func(l lanes) error {
		s.progress("streams")
		all, err := l.rounds(s.Rounds, func(c *load.Client) (load.Result, error) { return c.Closed(request, count) })
		if err != nil {
			return err
		}
		compare(t, "CPU per chunk, us", all, proxyPerChunk, 1)
		return nil
	})
	if err != nil {
		return err
	}
	return t.Write(s.out)
}

// Rates, in requests and in streams a second, at which nothing queues.
const (
	lowRate       = 100
	lowStreamRate = 20
)

// latency compares the time to the answer, and to the first token of streams on
// kept-alive connections, at low rates of arrivals.
func (s *suite) latency(ctx context.Context) error {
	t := s.table("latency", "Time to the answer at a low rate", "", "figure", "plain", "with filter", "ratio", "added")
	t.Notes = []string{fmt.Sprintf("100 workers, 4 KB bodies, Poisson arrivals at %d requests or %d streams a second, the same instants for both, on %d kept-alive connections.", lowRate, lowStreamRate, streaming)}
	err := s.fleetOf(ctx, 100, chunkInterval, func(l lanes) error {
		s.progress("latency")
		all, err := l.rounds(s.Rounds, arrivals(false, s.count(200), lowRate))
		if err != nil {
			return err
		}
		compare(t, "whole answer, p50 ms", all, quantile(0.5, whole), 3)
		compare(t, "whole answer, p99 ms", all, quantile(0.99, whole), 3)
		if all, err = l.rounds(s.Rounds, arrivals(true, s.count(60), lowStreamRate)); err != nil {
			return err
		}
		compare(t, "first token, p50 ms", all, quantile(0.5, first), 3)
		compare(t, "first token, p99 ms", all, quantile(0.99, first), 3)
		return ctx.Err()
	})
	if err != nil {
		return err
	}
	return t.Write(s.out)
}

// arrivals sends chats at the instants of a Poisson process.
func arrivals(stream bool, count int, rate float64) func(*load.Client) (load.Result, error) {
	request, at := load.Chat(engine.Model, 4<<10, stream), load.Poisson(count, rate, 1)
	return func(c *load.Client) (load.Result, error) { return c.Open(request, at) }
}

// compare adds a row of one figure of two lanes.
func compare(t *table.Table, name string, all [][]slice, figure func(*slice) float64, decimals int) {
	plain, filter := each(all[0], figure), each(all[1], figure)
	t.Row(name, plain.Text(decimals), filter.Text(decimals), filter.Over(plain).Text(2), filter.Minus(plain).Text(decimals))
}
