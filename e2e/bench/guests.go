package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/pointsman/pointsman/e2e/bench/engine"
	"github.com/pointsman/pointsman/e2e/bench/guest"
	"github.com/pointsman/pointsman/e2e/bench/table"
	"github.com/pointsman/pointsman/hostsim"
)

// withModule loads the filter into hostsim.
func (s *suite) withModule(ctx context.Context, use func(*hostsim.Module) error) (err error) {
	code, err := os.ReadFile(s.Parts.Filter)
	if err != nil {
		return err
	}
	m, err := hostsim.Load(ctx, code, hostsim.ModuleOptions{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close(ctx)) }()
	return use(m)
}

func withGuest(m *hostsim.Module, workers int, traced bool, use func(*guest.Guest) error) error {
	g, err := guest.New(m, workers, traced)
	if err != nil {
		return err
	}
	return errors.Join(use(g), g.Close())
}

// sync measures a tick with its callout and reply in the wasm guest.
func (s *suite) sync(ctx context.Context) error {
	t := s.table("sync", "One sync in the filter (hostsim on wazero: encode, call, decode, apply)", "",
		"workers", "the reply brings", "us per tick", "report, bytes", "reply, bytes")
	t.Notes = []string{"One request open for every worker, so that the report names about all of them at their largest. The state service's side of a sync is BenchmarkServer_sync in section core."}
	err := s.withModule(ctx, func(m *hostsim.Module) error {
		for _, n := range []int{100, 1000} {
			s.progress("sync: %d workers", n)
			if err := withGuest(m, n, false, func(g *guest.Guest) error { return s.syncRows(t, g, n) }); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return t.Write(s.out)
}

func (s *suite) syncRows(t *table.Table, g *guest.Guest, workers int) error {
	for _, change := range []guest.Change{guest.ChangeNothing, guest.ChangeLoad, guest.ChangeAll} {
		var spent table.Series
		var last guest.SyncCost
		for range s.Rounds {
			var err error
			if last, err = g.SyncTime(change, s.count(100)); err != nil {
				return err
			}
			spent = append(spent, micros(last.Time, 1))
		}
		t.Row(strconv.Itoa(workers), change.String(), spent.Text(0), strconv.Itoa(last.Sent), strconv.Itoa(last.Got))
	}
	return nil
}

// guest measures a request in the wasm guest and counts its calls.
func (s *suite) guest(ctx context.Context) error {
	return s.withModule(ctx, func(m *hostsim.Module) error {
		return errors.Join(s.guestTimes(m), s.guestCalls(m))
	})
}

func (s *suite) guestTimes(m *hostsim.Module) error {
	t := s.table("guest", "One request in guest and host (hostsim on wazero, one thread)", "", "workers", "body", "us per request")
	for _, n := range []int{4, 100, 1000} {
		s.progress("guest: %d workers", n)
		err := withGuest(m, n, false, func(g *guest.Guest) error {
			for _, body := range []int{1 << 10, 4 << 10, 64 << 10} {
				chat := guest.NewChat(body)
				var spent table.Series
				for range s.Rounds {
					d, err := g.RequestTime(chat, s.count(300))
					if err != nil {
						return err
					}
					spent = append(spent, micros(d, 1))
				}
				t.Row(strconv.Itoa(n), bytesText(body), spent.Text(1))
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return t.Write(s.out)
}

func (s *suite) guestCalls(m *hostsim.Module) error {
	t := s.table("guest", "Calls between host and guest for one 4 KB request", "0 guest calls per streamed chunk; falls short at 1",
		"call", "direction", "whole answer", fmt.Sprintf("%d streamed chunks", engine.Chunks))
	err := withGuest(m, 100, true, func(g *guest.Guest) error {
		chat := guest.NewChat(4 << 10)
		whole, err := g.RequestCalls(chat, 0)
		if err != nil {
			return err
		}
		streamed, err := g.RequestCalls(chat, engine.Chunks)
		if err != nil {
			return err
		}
		for _, name := range whole.Names {
			direction := "host call"
			if whole.Guest[name] {
				direction = "callback"
			}
			t.Row(name, direction, strconv.Itoa(whole.Counts[name]), strconv.Itoa(streamed.Counts[name]))
		}
		host, callbacks := whole.Totals()
		hostStreamed, callbacksStreamed := streamed.Totals()
		t.Row("all host calls", "", strconv.Itoa(host), strconv.Itoa(hostStreamed))
		t.Row("all callbacks", "", strconv.Itoa(callbacks), strconv.Itoa(callbacksStreamed))
		return nil
	})
	if err != nil {
		return err
	}
	return t.Write(s.out)
}
