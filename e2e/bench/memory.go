package bench

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/pointsman/pointsman/e2e/bench/engine"
	"github.com/pointsman/pointsman/e2e/bench/load"
	"github.com/pointsman/pointsman/e2e/bench/proc"
	"github.com/pointsman/pointsman/e2e/bench/rig"
	"github.com/pointsman/pointsman/e2e/bench/table"
)

// manyThreads is the larger of the two numbers of worker threads compared.
const manyThreads = 4

// starts bounds how often every Envoy is started.
const starts = 5

// memory compares the resident memory of Envoys with one and with several
// worker threads, each with and without the filter.
func (s *suite) memory(ctx context.Context) error {
	t := s.table("memory", "Resident memory of Envoy", "", "workers", "what", "plain, MiB", "with filter, MiB", "added, MiB")
	t.Notes = []string{"After 4 KB chats on 64 connections, so that every worker thread has served some. Per VM: what a further worker thread adds with the filter, less what it adds without."}
	sizes := s.Workers
	if len(sizes) == 0 {
		sizes = []int{4, 1000}
	}
	for _, n := range sizes {
		if err := s.memoryOf(ctx, t, n); err != nil {
			return err
		}
	}
	return t.Write(s.out)
}

func (s *suite) memoryOf(ctx context.Context, t *table.Table, workers int) error {
	var plain, filter [manyThreads + 1]table.Series // by number of threads
	for range min(s.Rounds, starts) {
		for _, threads := range []int{1, manyThreads} {
			s.progress("memory: %d workers, %d threads", workers, threads)
			a, b, err := s.residentWith(ctx, workers, threads)
			if err != nil {
				return err
			}
			plain[threads], filter[threads] = append(plain[threads], a), append(filter[threads], b)
		}
	}
	name := strconv.Itoa(workers)
	for _, threads := range []int{1, manyThreads} {
		p, f := plain[threads], filter[threads]
		t.Row(name, fmt.Sprintf("%d worker threads", threads), p.Text(1), f.Text(1), f.Minus(p).Text(1))
	}
	per := func(all [manyThreads + 1]table.Series) table.Series {
		return all[manyThreads].Minus(all[1]).Times(1.0 / (manyThreads - 1))
	}
	t.Row(name, "per VM", per(plain).Text(1), per(filter).Text(1), per(filter).Minus(per(plain)).Text(1))
	return nil
}

// residentWith gives the resident memory of both Envoys in MiB.
func (s *suite) residentWith(ctx context.Context, workers, threads int) (plain, filter float64, err error) {
	if err := ctx.Err(); err != nil {
		return 0, 0, err
	}
	r := rig.New(s.Parts)
	defer r.Close()
	fleet, err := r.StartEngines(workers, 0)
	if err != nil {
		return 0, 0, err
	}
	if plain, err = s.resident(r, fleet, rig.EnvoyOptions{Name: "envoy", Concurrency: threads}); err != nil {
		return 0, 0, err
	}
	filter, err = s.resident(r, fleet, rig.EnvoyOptions{Name: "envoy with filter", Policy: "power_of_two", Concurrency: threads})
	return plain, filter, err
}

// settle lets several syncs pass.
const settle = time.Second

func (s *suite) resident(r *rig.Rig, fleet *rig.Engines, o rig.EnvoyOptions) (float64, error) {
	target, err := r.StartEnvoy(fleet, o)
	if err != nil {
		return 0, err
	}
	client, err := load.Dial(target.Addr, 64)
	if err != nil {
		return 0, err
	}
	defer client.Close()
	if _, err := client.Closed(load.Chat(engine.Model, 4<<10, false), s.count(4000)); err != nil {
		return 0, err
	}
	time.Sleep(settle)
	bytes, err := proc.Resident(target.PIDs[0])
	return float64(bytes) / (1 << 20), err
}
