package engineapi

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"
)

// MaxRanks bounds the data-parallel ranks that are followed of one engine.
const MaxRanks = 64

// Source is one rank's socket as an engine tells it.
type Source struct {
	Rank int
	// Host is empty where the engine binds every address: it is the engine's own then.
	Host   string
	Port   uint16
	Replay uint16 // port of its replay socket, 0 for none
	Topic  string
}

// Endpoint is the source's address, on the engine's host unless it names another.
func (s Source) Endpoint(host string) string { return s.at(host, s.Port) }

// ReplayEndpoint is its replay socket's, empty when there is none.
func (s Source) ReplayEndpoint(host string) string {
	if s.Replay == 0 {
		return ""
	}
	return s.at(host, s.Replay)
}

func (s Source) at(host string, port uint16) string {
	if s.Host != "" {
		host = s.Host
	}
	return "tcp://" + net.JoinHostPort(host, strconv.Itoa(int(port)))
}

// Sources are the sockets of an engine, by rank.
type Sources struct {
	Events []Source // of KV events
	Load   []Source // of load reports
}

// Sources asks the engine where it publishes: SGLang by /server_info, vLLM by
// /kv_event_sources (engine-selection.md 10.1, fixtures/README.md sections 2 and 5). An
// engine that has neither page publishes nothing that could be found. Calls are like
// those of Describe.
func (c *Client) Sources(ctx context.Context, timeout time.Duration, attempts int) (Sources, error) {
	var info struct {
		Events *sglangEvents `json:"kv_events"`
	}
	err := c.getJSON(ctx, "/server_info", timeout, attempts, &info)
	if err == nil && info.Events != nil {
		return info.Events.sources(), nil
	}
	if err != nil && !Final(err) {
		return Sources{}, err
	}
	var ranks map[string]vllmEvents
	err = c.getJSON(ctx, "/kv_event_sources", timeout, attempts, &ranks)
	switch {
	case Final(err):
		return Sources{}, nil
	case err != nil:
		return Sources{}, err
	}
	return vllmSources(ranks)
}

// sglangEvents is the kv_events object of SGLang's /server_info. Ports are those of rank
// 0; each rank adds its number.
type sglangEvents struct {
	Publisher  string  `json:"publisher"`
	Host       string  `json:"endpoint_host"`
	Port       int     `json:"endpoint_port_base"`
	Topic      string  `json:"topic"`
	Ranks      int     `json:"dp_size"`
	LoadPort   *int    `json:"load_endpoint_port_base"`
	LoadTopic  *string `json:"load_topic"`
	ReplayPort int     `json:"replay_endpoint_port_base"`
}

func (e *sglangEvents) sources() Sources {
	var out Sources
	for rank := range min(max(e.Ranks, 1), MaxRanks) {
		s := Source{Rank: rank, Host: concrete(e.Host), Port: port(e.Port, rank), Replay: port(e.ReplayPort, rank), Topic: e.Topic}
		if e.Publisher == "zmq" && s.Port != 0 {
			out.Events = append(out.Events, s)
		}
		if e.LoadPort == nil || e.LoadTopic == nil {
			continue
		}
		l := Source{Rank: rank, Host: s.Host, Port: port(*e.LoadPort, rank), Topic: *e.LoadTopic}
		if l.Port != 0 {
			out.Load = append(out.Load, l)
		}
	}
	return out
}

// port is a rank's, 0 when there is none or it would be beyond the last.
func port(base, rank int) uint16 {
	if base <= 0 || base+rank > 65535 {
		return 0
	}
	return uint16(base + rank)
}

// concrete is a host that others can reach, empty for one that means any address.
func concrete(host string) string {
	switch host = strings.Trim(host, "[]"); host {
	case "*", "0.0.0.0", "::":
		return ""
	}
	return host
}

// vllmEvents is one rank of vLLM's /kv_event_sources.
type vllmEvents struct {
	Enabled   bool    `json:"enable_kv_cache_events"`
	Publisher string  `json:"publisher"`
	Endpoint  string  `json:"endpoint"`
	Replay    *string `json:"replay_endpoint"`
	Topic     string  `json:"topic"`
}

func vllmSources(ranks map[string]vllmEvents) (Sources, error) {
	var out Sources
	for key, e := range ranks {
		if !e.Enabled || e.Publisher != "zmq" {
			continue
		}
		rank, err := strconv.ParseUint(key, 10, 16)
		if err != nil || rank >= MaxRanks {
			return Sources{}, fmt.Errorf("GET /kv_event_sources: rank %.20q is not a number below %d", key, MaxRanks)
		}
		host, number, err := splitEndpoint(e.Endpoint)
		if err != nil {
			return Sources{}, fmt.Errorf("GET /kv_event_sources: %w", err)
		}
		s := Source{Rank: int(rank), Host: host, Port: number, Topic: e.Topic}
		if e.Replay != nil && *e.Replay != "" {
			if _, s.Replay, err = splitEndpoint(*e.Replay); err != nil {
				return Sources{}, fmt.Errorf("GET /kv_event_sources: %w", err)
			}
		}
		out.Events = append(out.Events, s)
	}
	slices.SortFunc(out.Events, func(a, b Source) int { return a.Rank - b.Rank })
	return out, nil
}

func splitEndpoint(endpoint string) (host string, number uint16, err error) {
	address, ok := strings.CutPrefix(endpoint, "tcp://")
	colon := strings.LastIndexByte(address, ':')
	if !ok || colon < 0 {
		return "", 0, fmt.Errorf("endpoint %.80q is not tcp://host:port", endpoint)
	}
	n, err := strconv.ParseUint(address[colon+1:], 10, 16)
	if err != nil || n == 0 {
		return "", 0, fmt.Errorf("endpoint %.80q has no port from 1 to 65535", endpoint)
	}
	return concrete(address[:colon]), uint16(n), nil
}
