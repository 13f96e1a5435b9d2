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

// streams compares what a streamed chunk costs, and the time to the first one on
// kept-alive connections.
func (s *suite) streams(ctx context.Context) error {
	t := s.table("streams", "Streamed answers",
		"no guest call per chunk (section guest counts them); CPU per chunk is the host's",
		"figure", "plain", "with filter", "ratio", "added")
	t.Notes = []string{fmt.Sprintf("4 workers, %d streams at once on kept-alive connections, %d chunks of %d bytes, %v apart, 1 KB bodies. CPU is that of the whole stream, its request included.", streaming, engine.Chunks, engine.ChunkBytes, chunkInterval)}
	request, count := load.Chat(engine.Model, 1<<10, true), s.count(3*streaming)
	err := s.fleetOf(ctx, 4, chunkInterval, func(l lanes) error {
		s.progress("streams")
		all, err := l.rounds(s.Rounds, func(c *load.Client) (load.Result, error) { return c.Closed(request, count) })
		if err != nil {
			return err
		}
		compare(t, "CPU per chunk, us", all, proxyPerChunk, 1)
		compare(t, "time to first token, p50 ms", all, quantile(0.5, first), 2)
		return nil
	})
	if err != nil {
		return err
	}
	return t.Write(s.out)
}

// lowRate is a rate, in requests a second, at which nothing queues.
const lowRate = 100

// latency compares the time to the answer at a low rate of arrivals.
func (s *suite) latency(ctx context.Context) error {
	t := s.table("latency", "Time to the answer at a low rate", "", "figure", "plain", "with filter", "ratio", "added")
	t.Notes = []string{fmt.Sprintf("100 workers, 4 KB bodies, Poisson arrivals at %d a second, the same instants for both.", lowRate)}
	request, count := load.Chat(engine.Model, 4<<10, false), s.count(400)
	err := s.fleetOf(ctx, 100, 0, func(l lanes) error {
		s.progress("latency")
		all, err := l.rounds(s.Rounds, func(c *load.Client) (load.Result, error) {
			return c.Open(request, load.Poisson(count, lowRate, 1))
		})
		if err != nil {
			return err
		}
		compare(t, "p50, ms", all, quantile(0.5, whole), 3)
		compare(t, "p99, ms", all, quantile(0.99, whole), 3)
		return nil
	})
	if err != nil {
		return err
	}
	return t.Write(s.out)
}

// compare adds a row of one figure of two lanes.
func compare(t *table.Table, name string, all [][]slice, figure func(*slice) float64, decimals int) {
	plain, filter := each(all[0], figure), each(all[1], figure)
	t.Row(name, plain.Text(decimals), filter.Text(decimals), filter.Over(plain).Text(2), filter.Minus(plain).Text(decimals))
}
