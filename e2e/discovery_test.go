package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pointsman/pointsman/e2e/envoytest"
	"github.com/pointsman/pointsman/hostsim/fakes"
	"github.com/stretchr/testify/require"
)

// discovered is a rig whose engines are named by a watched file and by calls over HTTP.
type discovered struct {
	*rig
	file string
}

func newDiscovered(t *testing.T, h host, engines int, first ...int) *discovered {
	t.Helper()
	d := &discovered{file: filepath.Join(t.TempDir(), "workers.yaml")}
	var configs []fakes.Config
	for i := range engines {
		configs = append(configs, fakes.Config{Name: fmt.Sprint("e", i), Models: []string{"m"}, DecodePerToken: 10 * time.Millisecond})
	}
	fleet, err := fakes.StartFleet(configs...)
	require.NoError(t, err)
	t.Cleanup(fleet.StopAll)
	d.rig = &rig{t: t, host: h, fleet: fleet, client: &http.Client{Timeout: 120 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
	t.Cleanup(d.client.CloseIdleConnections)
	d.name(first...)
	d.state = &stateService{t: t, addr: envoytest.FreePort(t)}
	d.state.file = fmt.Sprintf("version: 1\nlisten: %q\nshutdown: {drain_ms: 0}\ndiscovery:\n  file: {path: %q}\n  http: {enabled: true}\n", d.state.addr, d.file)
	t.Cleanup(d.state.stop)
	d.state.start()
	d.startProxy(setup{filter: boundModels, state: patient})
	d.awaitModels()
	return d
}

// name swaps the file for one of these engines.
func (d *discovered) name(engines ...int) {
	d.t.Helper()
	text := "workers:\n"
	for _, i := range engines {
		text += fmt.Sprintf("  - {id: e%d, address: %q}\n", i, d.engine(i).Addr())
	}
	require.NoError(d.t, os.WriteFile(d.file+".new", []byte(text), 0o600))
	require.NoError(d.t, os.Rename(d.file+".new", d.file))
}

// order calls the state service's API for workers.
func (d *discovered) order(method, path, body string) {
	d.t.Helper()
	req, err := http.NewRequest(method, "http://"+d.state.addr+"/v1/workers"+path, strings.NewReader(body))
	require.NoError(d.t, err)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	require.NoError(d.t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(d.t, err)
	require.Equal(d.t, http.StatusOK, resp.StatusCode, "%s", text)
}

// avoided waits until every context of the proxy has heard that an engine takes nothing
// new: none of many requests in a row without a session goes there.
func (d *discovered) avoided(engine string) {
	d.t.Helper()
	inRow := 0
	d.eventually(func() bool {
		if d.chatWith().engine() == engine {
			inRow = 0
		} else {
			inRow++
		}
		return inRow >= 40
	}, "new requests go to %s still", engine)
}

// steady sends requests until stopped, every other one of a session.
type steady struct {
	stop    atomic.Bool
	clients sync.WaitGroup
	mu      sync.Mutex
	served  map[string]int // by engine
	failed  []string
}

func (d *discovered) startLoad(clients int) *steady {
	l := &steady{served: map[string]int{}}
	for c := range clients {
		l.clients.Go(func() {
			for i := 0; !l.stop.Load(); i++ {
				l.ask(d, fmt.Sprintf("load-%d-%d", c, i%5), i%2 == 0)
			}
		})
	}
	return l
}

func (l *steady) ask(d *discovered, key string, session bool) {
	req, err := http.NewRequest(http.MethodPost, d.url+"/v1/chat/completions", strings.NewReader(chatBody("m", 50)))
	if err == nil {
		req.Header.Set("Content-Type", "application/json")
		if session {
			req.Header.Set("x-session-id", key)
		}
		var resp *http.Response
		if resp, err = d.client.Do(req); err == nil {
			var text []byte
			text, err = io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if err == nil && (resp.StatusCode != http.StatusOK || !json.Valid(text)) {
				err = fmt.Errorf("status %d: %s", resp.StatusCode, text)
			}
			l.mu.Lock()
			l.served[resp.Header.Get("x-fake-engine")]++
			l.mu.Unlock()
		}
	}
	if err != nil {
		l.mu.Lock()
		l.failed = append(l.failed, err.Error())
		l.mu.Unlock()
	}
}

func (l *steady) of(engine string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.served[engine]
}

// stream opens a long answer of a session and gives a channel that delivers all of it.
func (d *discovered) stream(key, engine string) <-chan string {
	d.t.Helper()
	req, err := http.NewRequest(http.MethodPost, d.url+"/v1/chat/completions",
		strings.NewReader(`{"model":"m","stream":true,"max_tokens":400,"messages":[{"role":"user","content":"hi"}]}`))
	require.NoError(d.t, err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("x-session-id", key)
	resp, err := d.client.Do(req)
	require.NoError(d.t, err)
	require.Equal(d.t, http.StatusOK, resp.StatusCode)
	require.Equal(d.t, engine, resp.Header.Get("x-fake-engine"))
	whole := make(chan string, 1)
	go func() {
		defer resp.Body.Close()
		var text bytes.Buffer
		_, err := io.Copy(&text, resp.Body)
		if err != nil {
			text.WriteString(err.Error())
		}
		whole <- text.String()
	}()
	return whole
}

// sessionOn finds a session that is bound to an engine.
func (d *discovered) sessionOn(engine string) string {
	d.t.Helper()
	for i := range 500 {
		key := fmt.Sprint("on-", engine, "-", i)
		if d.chatWith("x-session-id", key).engine() == engine {
			return key
		}
	}
	require.Fail(d.t, "no session goes to "+engine)
	return ""
}

// Engines come, drain and go under load, by the file and by calls: no request fails,
// what is open on an engine that drains or goes is finished, its sessions move when it is
// gone, and every charge is released.
func TestDiscovery_membership_changes_under_load(t *testing.T) {
	for _, h := range oneEnvoy() {
		t.Run(h.name, func(t *testing.T) {
			d := newDiscovered(t, h, 4, 0, 1)
			l := d.startLoad(6)
			t.Cleanup(func() { l.stop.Store(true); l.clients.Wait() })

			d.name(0, 1, 2)
			d.eventually(func() bool { return l.of("e2") > 0 }, "the engine that joined by the file gets nothing")
			d.order(http.MethodPost, "", fmt.Sprintf(`{"id":"e3","address":%q}`, d.engine(3).Addr()))
			d.eventually(func() bool { return l.of("e3") > 0 }, "the engine that was registered gets nothing")

			key, other := d.sessionOn("e0"), d.sessionOn("e1")
			whole := d.stream(key, "e0")
			d.order(http.MethodPost, "/e0/drain", "")
			d.avoided("e0")
			require.Equal(t, "e0", d.chatWith("x-session-id", key).engine(), "what is bound stays while it drains")
			d.order(http.MethodPost, "/e1/drain", "")
			d.order(http.MethodPost, "/e1/undrain", "")

			d.name(2) // both leave, one of them drained before and one at once
			d.eventually(func() bool {
				// Until it has heard of both a context may still move one to the other.
				stay := []string{"e2", "e3"}
				return slices.Contains(stay, d.chatWith("x-session-id", key).engine()) && slices.Contains(stay, d.chatWith("x-session-id", other).engine())
			}, "sessions stay on engines that left")
			home := d.chatWith("x-session-id", key).engine()
			require.Contains(t, []string{"e2", "e3"}, home)
			require.Equal(t, home, d.chatWith("x-session-id", key).engine(), "it has a home again")
			d.avoided("e1")
			select {
			case text := <-whole:
				require.Contains(t, text, "data: [DONE]", "the stream on the engine that left is finished")
			case <-time.After(60 * time.Second):
				require.Fail(t, "the stream does not end")
			}

			d.order(http.MethodDelete, "/e3", "")
			d.order(http.MethodDelete, "/e3", "")
			d.avoided("e3")
			d.name(0, 1, 2) // those that left come back, one still under the order to drain
			d.eventually(func() bool { return d.chatWith().engine() == "e1" }, "the engine that came back gets nothing")
			d.avoided("e0")
			d.order(http.MethodPost, "/e0/undrain", "")
			d.eventually(func() bool { return d.chatWith().engine() == "e0" }, "the engine that drains no more gets nothing")

			l.stop.Store(true)
			l.clients.Wait()
			require.Empty(t, l.failed)
			d.awaitInflight(0)
		})
	}
}
