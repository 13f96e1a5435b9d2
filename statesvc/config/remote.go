package config

import (
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
)

// Remote says which indexers are asked for the prefix source "remote"
// (engine-selection.md 9.1 and 11.2).
type Remote struct {
	// Endpoints are indexers that all know the same; none: the source is not had here.
	Endpoints []string `yaml:"endpoints"`
	// TimeoutMillis bounds one lookup, whatever it tries.
	TimeoutMillis Millis `yaml:"timeout_ms"`
	// MaxInflight is how many lookups run at a time; further ones do not wait.
	MaxInflight int `yaml:"max_inflight"`
	// BlockSize is the tokens of an engine's block; 0: as the engines say.
	BlockSize int `yaml:"block_size"`
	// Bigram says that engines hash pairs of tokens; with block_size only.
	Bigram bool `yaml:"bigram"`
}

// Indexer says where the state service answers others from its own index.
type Indexer struct {
	Listen string `yaml:"listen"` // host:port; empty: it does not
	// MaxInflight is how many lookups run at a time; further ones are refused.
	MaxInflight    int `yaml:"max_inflight"`
	MaxConnections int `yaml:"max_connections"` // at once
}

func defaultRemote() Remote {
	return Remote{Endpoints: []string{}, TimeoutMillis: 100, MaxInflight: 32}
}

func defaultIndexer() Indexer { return Indexer{MaxInflight: 32, MaxConnections: 256} }

// Bounds of remote lookups.
const (
	maxEndpoints  = 16
	maxLookups    = 4096
	maxBlockSize  = 1 << 16
	maxLookupSpan = 10_000 // milliseconds, the longest that a filter waits
)

// IndexerEndpoint is where an indexer listens, as gRPC names it.
type IndexerEndpoint struct {
	Target string
	TLS    bool
}

// ParseIndexerEndpoint reads a URL of the scheme http, https or unix. The error says
// what to write.
func ParseIndexerEndpoint(endpoint string) (IndexerEndpoint, error) {
	u, err := url.Parse(endpoint)
	if err != nil || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return IndexerEndpoint{}, fmt.Errorf("%q is not an endpoint; write http://host:port, https://host:port or unix:///path", endpoint)
	}
	switch u.Scheme {
	case "http", "https":
		return tcpEndpoint(endpoint, u)
	case "unix":
		if u.Host != "" || !strings.HasPrefix(u.Path, "/") || u.Path == "/" {
			return IndexerEndpoint{}, fmt.Errorf("%q has no absolute path; write unix:///path", endpoint)
		}
		return IndexerEndpoint{Target: "unix://" + u.Path}, nil
	}
	return IndexerEndpoint{}, fmt.Errorf("%q has no scheme that is known; write http://host:port, https://host:port or unix:///path", endpoint)
}

func tcpEndpoint(endpoint string, u *url.URL) (IndexerEndpoint, error) {
	if u.Hostname() == "" || u.Path != "" && u.Path != "/" {
		return IndexerEndpoint{}, fmt.Errorf("%q is not an endpoint; write %s://host:port without a path", endpoint, u.Scheme)
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return IndexerEndpoint{}, fmt.Errorf("%q has no port from 1 to 65535", endpoint)
	}
	return IndexerEndpoint{Target: "dns:///" + net.JoinHostPort(u.Hostname(), port), TLS: u.Scheme == "https"}, nil
}

func (c *Config) validateRemote(p *Problems) {
	r := &c.KV.Remote
	checkRange("kv.remote.timeout_ms", int64(r.TimeoutMillis), 1, maxLookupSpan, " milliseconds", p)
	checkRange("kv.remote.max_inflight", int64(r.MaxInflight), 1, maxLookups, "", p)
	checkRange("kv.remote.block_size", int64(r.BlockSize), 0, maxBlockSize, "", p)
	if r.Bigram && r.BlockSize == 0 {
		p.add("kv.remote.bigram", "goes with kv.remote.block_size; write both, or remove it and the engines are asked")
	}
	if len(r.Endpoints) > maxEndpoints {
		p.add("kv.remote.endpoints", "%d endpoints; write at most %d", len(r.Endpoints), maxEndpoints)
	}
	c.checkEndpoints(p)
	r.checkUse(p)
	c.validateIndexer(p)
}

// checkEndpoints refuses what is none, what stands twice, and this service itself.
func (c *Config) checkEndpoints(p *Problems) {
	seen := map[string]int{}
	for i, endpoint := range c.KV.Remote.Endpoints {
		at := fmt.Sprintf("kv.remote.endpoints[%d]", i)
		target, err := ParseIndexerEndpoint(endpoint)
		if err != nil {
			p.add(at, "%s", err)
			continue
		}
		if other, twice := seen[target.Target]; twice {
			p.add(at, "%q is also kv.remote.endpoints[%d]; remove one", endpoint, other)
		}
		seen[target.Target] = i
		if own := c.Indexer.Listen; own != "" && target.Target == "dns:///"+own {
			p.add(at, "%q is indexer.listen of this service, which knows no more than the source local; remove it", endpoint)
		}
	}
}

// checkUse refuses settings that nothing reads.
func (r *Remote) checkUse(p *Problems) {
	if len(r.Endpoints) > 0 {
		return
	}
	unused := defaultRemote()
	for _, s := range []struct {
		key string
		set bool
	}{
		{"timeout_ms", r.TimeoutMillis != unused.TimeoutMillis},
		{"max_inflight", r.MaxInflight != unused.MaxInflight},
		{"block_size", r.BlockSize != unused.BlockSize},
	} {
		if s.set {
			p.add("kv.remote."+s.key, "has no effect without kv.remote.endpoints; write them, such as [\"http://10.0.0.5:50051\"], or remove it")
		}
	}
}

func (c *Config) validateIndexer(p *Problems) {
	x := &c.Indexer
	checkRange("indexer.max_inflight", int64(x.MaxInflight), 1, maxLookups, "", p)
	checkRange("indexer.max_connections", int64(x.MaxConnections), 1, 1<<16, "", p)
	if x.Listen == "" {
		return
	}
	checkListen("indexer.listen", x.Listen, "127.0.0.1:50051", p)
	if _, port, err := net.SplitHostPort(x.Listen); err == nil && port != "0" && x.Listen == c.Listen {
		p.add("indexer.listen", "%q is also listen; write another port", x.Listen)
	}
	if !c.KV.Enabled {
		p.add("indexer.listen", "answers from the index of KV events, and kv.enabled is false; remove one of them")
	}
}
