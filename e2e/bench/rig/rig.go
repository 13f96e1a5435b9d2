// Package rig starts what is measured: engines, state service, Envoys, and the
// other routers, each a process of its own on loopback.
package rig

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
	"time"

	"github.com/pointsman/pointsman/e2e/bench/proc"
	"github.com/pointsman/pointsman/e2e/engineproc"
)

// Parts are the programs and files that everything is made of.
type Parts struct {
	Root string // of the repository
	// Engines is a program and its arguments that serve engines as
	// engineproc.Serve does; --count and --interval, or cached.Flag, are appended.
	Engines []string
	State   string // bin/statesvc
	Filter  string // dist/filter.wasm
	Envoy   string // binary
	Nginx   string // binary, looked up in PATH
	SGLang  string // bin folder of a Python environment with sglang-router
	VLLM    string // bin folder of a Python environment with vllm-router
	// Tokenizer is the folder of the tokenizer of engines with caches.
	Tokenizer string
	Scratch   string // folder for configurations
	Patience  time.Duration
}

// Rig owns what it started. Close stops all of it.
type Rig struct {
	parts Parts
	stops []func()
	files int
}

// New makes an empty rig.
func New(p Parts) *Rig { return &Rig{parts: p} }

// Close stops everything, the last started first.
func (r *Rig) Close() {
	for _, stop := range slices.Backward(r.stops) {
		stop()
	}
	r.stops = nil
}

// Target is a proxy under load.
type Target struct {
	Name  string
	Addr  string
	PIDs  []int         // of the proxy itself
	State *proc.Process // its state service, if it has one
	state string        // ip:port of the state service
	proxy *proc.Process // for its output
	ready func(*Target) error
}

// CPU is the processor time of the proxy so far.
func (t *Target) CPU() (time.Duration, error) { return proc.CPU(t.PIDs...) }

// StateCPU is the processor time of its state service so far, 0 without one.
func (t *Target) StateCPU() (time.Duration, error) {
	if t.State == nil {
		return 0, nil
	}
	return proc.CPU(t.State.PID())
}

// Output is the last of what the proxy wrote.
func (t *Target) Output() string { return t.proxy.Output() }

// Engines are running engines.
type Engines struct {
	Addrs     []string
	PID       int
	tokenizer string // folder of their model's; empty for none: they are asked
}

// StartEngines runs n engines in one process.
func (r *Rig) StartEngines(n int, interval time.Duration) (*Engines, error) {
	e, err := r.startEngines("--count", strconv.Itoa(n), "--interval", interval.String())
	if err == nil {
		e.tokenizer = r.parts.Tokenizer
	}
	return e, err
}

func (r *Rig) startEngines(flags ...string) (*Engines, error) {
	argv := slices.Concat(r.parts.Engines, flags)
	p, out, err := proc.StartPiped("engines", argv[0], argv[1:], nil)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	r.stops = append(r.stops, p.Stop)
	var hello engineproc.Hello
	if err := json.NewDecoder(out).Decode(&hello); err != nil {
		return nil, fmt.Errorf("engines: %w: %s", err, p.Output())
	}
	return &Engines{Addrs: hello.Addrs, PID: p.PID()}, nil
}

// start runs a proxy and waits until it serves.
func (r *Rig) start(t *Target, program string, args, env []string) (*Target, error) {
	p, err := proc.Start(t.Name, program, args, env)
	if err != nil {
		return nil, err
	}
	r.stops = append(r.stops, p.Stop)
	t.proxy, t.PIDs = p, []int{p.PID()}
	if err := r.await(p, func() error { return t.ready(t) }); err != nil {
		return nil, err
	}
	t.PIDs = proc.Family(p.PID())
	return t, nil
}

// await tries until something works or the process ends.
func (r *Rig) await(p *proc.Process, try func() error) error {
	deadline := time.Now().Add(r.parts.Patience)
	for {
		err := try()
		switch {
		case err == nil:
			return nil
		case p.Exited(), time.Now().After(deadline):
			return fmt.Errorf("%s does not serve: %w: %s", p.Name(), err, p.Output())
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// file writes a configuration and gives its path.
func (r *Rig) file(name string, content []byte) (string, error) {
	r.files++
	path := filepath.Join(r.parts.Scratch, fmt.Sprintf("%d-%s", r.files, name))
	return path, os.WriteFile(path, content, 0o600)
}

// freePort reserves a loopback port for a moment: programs that are told a port
// cannot report the one they took. It is on an address of its own, where none of
// the many connections to engines can take it meanwhile.
func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// get fetches a page and fails on any status but 200.
func get(url string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	transport := &http.Transport{DisableKeepAlives: true}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return "", err
	}
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s answers %s", url, resp.Status)
	}
	return string(text), nil
}
