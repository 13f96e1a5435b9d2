package indexer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/pointsman/pointsman/statesvc/indexer/kvindexerpb"
)

// Options are a Client's facts. All are required.
type Options struct {
	Endpoints   []string      // URLs with the scheme http, https or unix
	Timeout     time.Duration // of a lookup, whatever it tries
	MaxInflight int           // lookups at a time; further ones do not wait
	Logger      *slog.Logger
}

// Client asks indexers that all know the same. It is safe for concurrent use; Start and
// Close are called once each, in this order.
type Client struct {
	timeout   time.Duration
	slots     chan struct{}
	endpoints []*endpoint
	turn      atomic.Uint64
	lookups   [outcomes]atomic.Uint64
	ignored   [ignorances]atomic.Uint64
}

// Ignored is why a match of an answer did not count in full.
type Ignored int

// The reasons.
const (
	UnknownWorker Ignored = iota // no engine of this fleet has the address
	BeyondPrompt                 // more blocks than were asked about; it counts for these
	NoAddress
)

// ignorances counts them.
const ignorances = int(NoAddress) + 1

// String is the reason's label in metrics.
func (i Ignored) String() string {
	return [...]string{"unknown_worker", "beyond_prompt", "no_address"}[i]
}

// New prepares a client; nothing runs before Start.
func New(o Options) *Client {
	c := &Client{timeout: o.Timeout, slots: make(chan struct{}, o.MaxInflight)}
	for _, name := range o.Endpoints {
		c.endpoints = append(c.endpoints, &endpoint{name: name, log: o.Logger})
	}
	return c
}

// Start begins to connect; nothing is waited for. Its error names every endpoint that is
// none, and nothing runs then.
func (c *Client) Start() error {
	var bad []error
	for _, e := range c.endpoints {
		bad = append(bad, e.dial())
	}
	if err := errors.Join(bad...); err != nil {
		c.Close()
		return err
	}
	return nil
}

// Close ends every connection and what waits for an answer.
func (c *Client) Close() {
	for _, e := range c.endpoints {
		if e.conn != nil {
			_ = e.conn.Close() // it fails only when it was closed before
		}
	}
}

// Match asks who holds how much of a prompt, told by SGLang's hashes of its blocks from
// the first on. It answers by the end of ctx or of the client's own time, whichever is
// first. Hashes beyond MaxHashes are not sent.
func (c *Client) Match(ctx context.Context, hashes []int64) Answer {
	a := c.match(ctx, hashes[:min(len(hashes), MaxHashes)])
	c.lookups[a.Outcome].Add(1)
	c.Ignore(BeyondPrompt, a.Beyond)
	c.Ignore(NoAddress, a.Nameless)
	return a
}

// Ignore counts matches that the caller had no use for.
func (c *Client) Ignore(why Ignored, n int) { c.ignored[why].Add(uint64(n)) }

func (c *Client) match(ctx context.Context, hashes []int64) Answer {
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	default:
		return Answer{Outcome: Overloaded, Why: fmt.Sprintf("%d lookups are under way here", cap(c.slots))}
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	query := &kvindexerpb.MatchExternalKvPrefixRequest{Hashes: hashes}
	list := c.order(time.Now())
	last := Answer{Outcome: Timeout, Why: "no indexer answered lately"}
	for i, e := range list {
		if ctx.Err() != nil {
			break
		}
		last = c.try(ctx, e, query, len(list)-i)
		if !last.Outcome.movesOn() {
			break
		}
	}
	return last
}

// order lists the endpoints to try: those with the fewest calls under way first, in turn
// among equals. Those that rest are left out.
func (c *Client) order(now time.Time) []*endpoint {
	first := int(c.turn.Add(1) % uint64(len(c.endpoints)))
	list := make([]*endpoint, 0, len(c.endpoints))
	for i := range c.endpoints {
		if e := c.endpoints[(first+i)%len(c.endpoints)]; e.ready(now) {
			list = append(list, e)
		}
	}
	if len(list) > 1 {
		slices.SortStableFunc(list, func(a, b *endpoint) int { return int(a.open.Load() - b.open.Load()) })
	}
	return list
}

// try asks one endpoint and leaves the others that are left their share of the time.
func (c *Client) try(ctx context.Context, e *endpoint, query *kvindexerpb.MatchExternalKvPrefixRequest, left int) Answer {
	began := time.Now()
	share := c.timeout
	if end, ok := ctx.Deadline(); ok {
		share = end.Sub(began) / time.Duration(left)
	}
	within, cancel := context.WithTimeout(ctx, share)
	defer cancel()
	a := e.ask(within, query)
	fair := !errors.Is(ctx.Err(), context.Canceled) && share >= c.timeout/time.Duration(2*len(c.endpoints))
	e.note(&a, time.Now(), fair)
	return a
}

// Counts is what was asked so far.
type Counts struct {
	Inflight  int
	Lookups   map[Outcome]uint64
	Ignored   map[Ignored]uint64
	Endpoints []EndpointCounts
}

// EndpointCounts is what was asked of one endpoint.
type EndpointCounts struct {
	Name  string
	Calls map[Outcome]uint64
}

// Counts reads them. All outcomes are in each map.
func (c *Client) Counts() Counts {
	out := Counts{Inflight: len(c.slots), Lookups: read(&c.lookups), Ignored: map[Ignored]uint64{}}
	for i := range c.ignored {
		out.Ignored[Ignored(i)] = c.ignored[i].Load()
	}
	for _, e := range c.endpoints {
		out.Endpoints = append(out.Endpoints, EndpointCounts{Name: e.name, Calls: read(&e.calls)})
	}
	return out
}

func read(list *[outcomes]atomic.Uint64) map[Outcome]uint64 {
	out := make(map[Outcome]uint64, outcomes)
	for i := range list {
		out[Outcome(i)] = list[i].Load()
	}
	return out
}
