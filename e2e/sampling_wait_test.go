package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// Requests that came before the first fleet was known are edited after their body's
// own callback, on a tick, while other bodies have come in between.
func TestSampling_of_requests_that_waited_for_the_fleet(t *testing.T) {
	const clients = 12
	for _, h := range oneOfEach() {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, h, setup{engines: plainEngines(1), filter: governedModels(strictSampling), noState: true, concurrency: 1})
			body := func(i int) string {
				return fmt.Sprintf(`{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"%s"}],"user":"u%d"`, strings.Repeat(fmt.Sprint(i%10), 100*i), i)
			}
			var sent, done sync.WaitGroup
			for i := range clients {
				sent.Add(1)
				done.Go(func() {
					c := r.dial()
					c.write(rawPost("/v1/chat/completions", body(i)+"}"))
					sent.Done()
					for a := c.read(); a.status != http.StatusOK; a = c.read() { // the wait has an end, on a slow machine too
						if a.status != http.StatusServiceUnavailable {
							t.Errorf("status %d: %s", a.status, a.body)
							return
						}
						c = r.dial()
						c.write(rawPost("/v1/chat/completions", body(i)+"}"))
					}
				})
			}
			sent.Wait()
			r.state.start()
			done.Wait()
			arrived := map[string]bool{}
			for _, seen := range r.engine(0).Requests() {
				arrived[string(seen.Body)] = true
			}
			for i := range clients {
				require.True(t, arrived[body(i)+`,"temperature":0.6,"top_k":20}`], "request %d", i)
			}
			require.Len(t, arrived, clients)
		})
	}
}
