package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/pointsman/pointsman/configs"
	"github.com/pointsman/pointsman/hostsim/fakes"
	"github.com/pointsman/pointsman/statesvc"
	"github.com/pointsman/pointsman/statesvc/config"
)

// demo is a fleet of fake engines and the state service that watches them.
type demo struct {
	engines []*fakes.Engine
	state   *statesvc.Service
}

// demoFilter is the shipped filter configuration of the demo.
func demoFilter() ([]byte, error) { return configs.FS.ReadFile("filter/demo.json") }

// startDemo starts the engines and the state service. On error nothing is left
// running.
func startDemo(ctx context.Context, c *serveCmd, logger *slog.Logger) (*demo, error) {
	d := &demo{}
	for i, cfg := range fakes.Replicate(demoEngine(), c.Demo) {
		engine, err := startEngine(cfg, enginePort(c.EnginePort, i))
		if err != nil {
			d.stop()
			return nil, fmt.Errorf("demo: %w; choose other ports with --engine-port", err)
		}
		d.engines = append(d.engines, engine)
	}
	if err := d.startState(ctx, c.StateListen, logger); err != nil {
		d.stop()
		return nil, fmt.Errorf("demo: %w; choose another address with --state-listen", err)
	}
	return d, nil
}

// demoEngine answers at a speed a person can watch, faster where it has the prompt's beginning, and says what it has.
func demoEngine() fakes.Config {
	return fakes.Config{
		Models: []string{"demo"}, Slots: 8,
		PrefillBase: 20 * time.Millisecond, PrefillPerToken: 100 * time.Microsecond, DecodePerToken: 30 * time.Millisecond,
		MaxModelLen: 1 << 24, KV: &fakes.KVConfig{Publish: true},
	}
}

func enginePort(first, i int) int {
	if first == 0 {
		return 0
	}
	return first + i
}

func startEngine(cfg fakes.Config, port int) (*fakes.Engine, error) {
	engine, err := fakes.New(cfg)
	if err != nil {
		return nil, err
	}
	return engine, engine.Start(net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
}

func (d *demo) startState(ctx context.Context, listen string, logger *slog.Logger) error {
	var file strings.Builder
	// Engines are asked for tokens, so that their KV events can be used whatever the filter's configuration is.
	fmt.Fprintf(&file, "version: 1\nlisten: %q\ntokenize: {ask_engines: true}\nfleet:\n  static:\n", listen)
	for _, e := range d.engines {
		fmt.Fprintf(&file, "    - {id: %s, address: %q}\n", e.Name(), e.Addr())
	}
	cfg, err := config.Parse([]byte(file.String()), os.Getenv)
	if err != nil {
		return err
	}
	service, err := statesvc.New(cfg, statesvc.Options{Logger: logger, Version: version})
	if err != nil {
		return err
	}
	if err := service.Start(ctx); err != nil {
		return err
	}
	d.state = service
	return nil
}

func (d *demo) stateURL() string { return "http://" + d.state.Addr() }

func (d *demo) addrs() []string {
	list := make([]string, 0, len(d.engines))
	for _, e := range d.engines {
		list = append(list, e.Addr())
	}
	return list
}

func (d *demo) stop() {
	if d.state != nil {
		ctx, cancel := context.WithTimeout(context.Background(), stopWithin)
		defer cancel()
		_ = d.state.Stop(ctx)
	}
	for _, e := range d.engines {
		e.Stop()
	}
}

// greet prints where things are and what to type. admin is empty where there is none.
func (c *serveCmd) greet(con console, addr, admin string, fleet *demo) {
	fmt.Fprintf(con.out, "\nPointsman is at http://%s\n", addr)
	if admin != "" {
		fmt.Fprintf(con.out, "The filter's metrics are at http://%s/metrics\n", admin)
	}
	if fleet.engines == nil {
		return
	}
	fmt.Fprintf(con.out, `
A chat completion:
  curl -i http://%[1]s/v1/chat/completions -H 'content-type: application/json' -d '{"model":"demo","messages":[{"role":"user","content":"hello"}]}'

The same, streamed:
  curl -N http://%[1]s/v1/chat/completions -H 'content-type: application/json' -d '{"model":"demo","stream":true,"messages":[{"role":"user","content":"hello"}]}'

The workers (the x-fake-engine header of an answer names the one that served it):
  curl http://%[2]s/v1/workers
  a page for people: http://%[2]s/

Stop with Ctrl-C.
`, addr, fleet.state.Addr())
}
