package e2e

import (
	"context"
	"maps"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// The state service is killed under load: known sessions stay where they were and
// new ones go by hash, on both proxies. Back up and empty, it has each session move
// once at most.
func TestSessions_move_once_at_most_after_an_outage(t *testing.T) {
	for _, h := range oneEnvoy() {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			s := newSessions(t, h, 8, frontSetup{models: boundModels, sync: patient}, "m")
			known, fresh := named("known", 40), named("new", 20)
			homes := s.settle(known)
			load := s.keepTurning(known, homes)
			s.state.kill()
			s.one.eventually(load.lap(), "turns without the state service do not end")
			load.stop()
			maps.Copy(homes, s.settle(fresh))

			s.state.start()
			s.reached()
			trail := map[string][]string{}
			for key, home := range homes {
				trail[key] = []string{home}
			}
			for turn := range 6 {
				for _, key := range append(known, fresh...) {
					if at := s.home(turn, key); at != trail[key][len(trail[key])-1] {
						trail[key] = append(trail[key], at)
					}
				}
			}
			for key, places := range trail {
				require.LessOrEqual(t, len(places), 2, "%s moved more than once: %v", key, places)
			}
		})
	}
}

// kill ends the state service without a word to anybody.
func (s *stateService) kill() {
	s.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = s.service.Stop(ctx) // open requests are cut, which is what it reports
	s.service = nil
}

// reached waits until both proxies get answers again, so that their connections
// stand.
func (s *sessions) reached() {
	s.t.Helper()
	s.settled()
	for i, f := range s.fronts() {
		f.eventually(func() bool {
			before := s.state.calls("observe")
			s.home(i, "probe")
			return s.state.calls("observe") > before
		}, "calls are not answered")
	}
}

// turning are clients that send turns of sessions over and over.
type turning struct {
	cancel context.CancelFunc
	wg     sync.WaitGroup
	laps   [4]atomic.Int64 // over all sessions, by client
}

// keepTurning has clients send turns by both proxies, each of which must go home.
func (s *sessions) keepTurning(keys []string, homes map[string]string) *turning {
	ctx, cancel := context.WithCancel(context.Background())
	l := &turning{cancel: cancel}
	for client := range l.laps {
		l.wg.Go(func() {
			for lap := 0; ctx.Err() == nil; lap++ {
				for _, key := range keys {
					a := s.fronts()[(lap+client)%2].chatWith("x-session-id", key)
					if a.status != http.StatusOK || a.engine() != homes[key] {
						s.t.Errorf("%s of %s: status %d from %q: %s", key, homes[key], a.status, a.engine(), a.body)
						return
					}
				}
				l.laps[client].Add(1)
			}
		})
	}
	s.t.Cleanup(l.stop)
	return l
}

// lap tells when every client has done a lap that began after the call, by either
// proxy.
func (l *turning) lap() (done func() bool) {
	var before [len(l.laps)]int64
	for i := range l.laps {
		before[i] = l.laps[i].Load()
	}
	return func() bool {
		for i := range l.laps {
			if l.laps[i].Load() < before[i]+3 {
				return false
			}
		}
		return true
	}
}

func (l *turning) stop() { l.cancel(); l.wg.Wait() }
