// Package stage starts what a long run goes through, each part a process of its
// own on loopback: fake engines, the state service, and Envoy or hostsim with
// the filter. It reads what they use.
package stage

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pointsman/pointsman/e2e/bench/proc"
	"github.com/pointsman/pointsman/e2e/soak/engine"
)

// startWithin bounds the start of each part.
const startWithin = 60 * time.Second

// readWithin bounds one look at a part.
const readWithin = 10 * time.Second

// Options say what to start.
type Options struct {
	Root    string // of the repository
	Self    string // this program, for the parts that are its own commands
	State   string // binary of the state service
	Filter  string // filter.wasm
	Version string // of Envoy
	Hostsim bool   // instead of Envoy, with the WASI functions that Version has
	Threads int    // worker threads
	Engines int
	// NoBreaker lets engines fail as often as they like.
	NoBreaker bool
	// Calls is whether requests ask the state service for their session's engine, and how:
	// CallsNone, CallsHTTP or CallsStream.
	Calls string
}

// The ways to call.
const (
	CallsNone   = "none"
	CallsHTTP   = "http"
	CallsStream = "stream"
)

// Host is the process that runs the filter.
type Host interface {
	// Addr is where clients send to.
	Addr() string
	PID() int
	// Read looks at the process from inside.
	Read(ctx context.Context) (Reading, error)
	// Log is the file it logs to.
	Log() string
	Exited() bool
}

// Reading is what a host tells of itself.
type Reading struct {
	// Wasm is the linear memory of all VMs in bytes.
	Wasm int64
	// Heap is what the host itself has allocated in bytes, the VMs apart; nil is
	// not told.
	Heap *int64
	// Goroutines of the host, nil for one that has none.
	Goroutines *int64
	// Counters are the filter's own, by name.
	Counters map[string]int64
	// Reloads counts VMs that failed and were replaced.
	Reloads int64
}

// Stage owns what it started. Close stops all of it.
type Stage struct {
	Host    Host
	State   *State
	Engines *Engines

	options Options
	dir     string
	stops   []func()
}

// Start starts everything and waits until the filter routes. On error nothing is
// left running.
func Start(ctx context.Context, o Options) (*Stage, error) {
	dir, err := os.MkdirTemp("", "soak-")
	if err != nil {
		return nil, err
	}
	s := &Stage{options: o, dir: dir}
	if err := s.start(ctx); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *Stage) start(ctx context.Context) (err error) {
	if s.Engines, err = s.startEngines(); err != nil {
		return err
	}
	if s.State, err = s.startState(ctx); err != nil {
		return err
	}
	if s.options.Hostsim {
		s.Host, err = s.startHostsim()
	} else {
		s.Host, err = s.startEnvoy()
	}
	if err != nil {
		return err
	}
	err = await(ctx, "the filter", s.Host.Exited, func() error {
		body, err := get(ctx, "http://"+s.Host.Addr()+"/v1/models")
		if err == nil && !strings.Contains(string(body), engine.Model) {
			err = fmt.Errorf("no model is routed: %s", body)
		}
		return err
	})
	if err != nil {
		log, _ := os.ReadFile(s.Host.Log())
		return fmt.Errorf("%w: %s", err, log)
	}
	return nil
}

// Threads is how many worker threads the host has.
func (s *Stage) Threads() int { return s.options.Threads }

// Close stops everything, the last started first, and removes its files.
func (s *Stage) Close() {
	for _, stop := range slices.Backward(s.stops) {
		stop()
	}
	_ = os.RemoveAll(s.dir)
}

// spawn runs a program that is stopped with the stage.
func (s *Stage) spawn(name, program string, args ...string) (*proc.Process, error) {
	p, err := proc.Start(name, program, args, nil)
	if err != nil {
		return nil, err
	}
	s.stops = append(s.stops, p.Stop)
	return p, nil
}

// spawnHello runs a command of this program that says hello in a line of JSON.
func (s *Stage) spawnHello(name string, hello any, args ...string) (*proc.Process, error) {
	p, out, err := proc.StartPiped(name, s.options.Self, args, nil)
	if err != nil {
		return nil, err
	}
	s.stops = append(s.stops, p.Stop)
	if err := json.NewDecoder(out).Decode(hello); err != nil {
		return nil, fmt.Errorf("%s: %w: %s", name, err, p.Output())
	}
	return p, nil
}

// file writes a configuration and gives its path.
func (s *Stage) file(name, content string) (string, error) {
	path := filepath.Join(s.dir, name)
	return path, os.WriteFile(path, []byte(content), 0o600)
}

// filterConfig is what the filter is told. Transport retry is the recommended
// setting: an engine that dies before its answer costs no request.
func filterConfig(noBreaker bool, calls string) string {
	breaker, policy := "", "power_of_two"
	if noBreaker {
		breaker = `"breaker":{"threshold":1048576},`
	}
	if calls != CallsNone {
		policy = "session_aware"
	}
	return fmt.Sprintf(`{"version":1,"proxy":"soak","endpoint_mode":"override_host","transport_retry":true,%s"state":{"cluster":"pointsman_state","call_stream":%t},`+
		`"models":{%q:{"buckets":[{"id":"all","groups":{"plain":{"policy":{"type":%q}}}}]}}}`, breaker, calls == CallsStream, engine.Model, policy)
}

// await tries until something works or the process ends.
func await(ctx context.Context, what string, exited func() bool, try func() error) error {
	deadline := time.Now().Add(startWithin)
	for {
		err := try()
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case exited(), time.Now().After(deadline):
			return fmt.Errorf("%s does not serve: %w", what, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// freePort reserves a loopback port for a moment: programs that are told a port
// cannot report the one they took.
func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// get fetches a page and fails on any status but 200.
func get(ctx context.Context, url string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, readWithin)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s answers %s: %s", url, resp.Status, body)
	}
	return body, err
}

func getJSON(ctx context.Context, url string, into any) error {
	body, err := get(ctx, url)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("%s: %w", url, err)
	}
	return nil
}

// Descriptors counts the open file descriptors of a process.
func Descriptors(pid int) (int64, error) {
	entries, err := os.ReadDir(filepath.Join("/proc", strconv.Itoa(pid), "fd"))
	return int64(len(entries)), err
}
