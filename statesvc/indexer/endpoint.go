package indexer

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pointsman/pointsman/statesvc/config"
	"github.com/pointsman/pointsman/statesvc/indexer/kvindexerpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// Method is the full name of the one call that is made.
const Method = "/kv_indexer.v1.KVIndexer/MatchExternalKvPrefix"

// An endpoint that did not answer so many calls in a row rests: until the rest is over
// one call is made in each such time, and the others go elsewhere or do not wait.
const (
	restAfter = 3
	rest      = 500 * time.Millisecond
)

// Connecting again: a restarted indexer is found soon, and one that is down costs little.
const (
	firstRetry     = 50 * time.Millisecond
	lastRetry      = 2 * time.Second
	connectTimeout = 2 * time.Second
	maxHeaderBytes = 16 << 10
)

// endpoint is one indexer process.
type endpoint struct {
	name  string // as configured
	conn  *grpc.ClientConn
	log   *slog.Logger
	calls [outcomes]atomic.Uint64
	open  atomic.Int64

	mu      sync.Mutex
	silent  int // calls in a row without an answer
	resting time.Time
	told    bool // that it does not answer
}

// dial begins to connect.
func (e *endpoint) dial() error {
	target, err := config.ParseIndexerEndpoint(e.name)
	if err != nil {
		return err
	}
	security := insecure.NewCredentials()
	if target.TLS {
		security = credentials.NewTLS(&tls.Config{MinVersion: tls.VersionTLS12})
	}
	e.conn, err = grpc.NewClient(target.Target,
		grpc.WithTransportCredentials(security), grpc.WithNoProxy(), grpc.WithDisableServiceConfig(), grpc.WithDisableRetry(),
		grpc.WithMaxHeaderListSize(maxHeaderBytes), grpc.WithUserAgent("pointsman-statesvc"),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: firstRetry, Multiplier: 1.6, Jitter: 0.2, MaxDelay: lastRetry},
			MinConnectTimeout: connectTimeout,
		}),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(codec{}), grpc.MaxCallRecvMsgSize(maxAnswerBytes), grpc.MaxCallSendMsgSize(maxQueryBytes)),
	)
	if err != nil {
		return fmt.Errorf("indexer %s: %w", e.name, err)
	}
	e.conn.Connect()
	return nil
}

// ask makes one call.
func (e *endpoint) ask(ctx context.Context, query *kvindexerpb.MatchExternalKvPrefixRequest) Answer {
	e.open.Add(1)
	defer e.open.Add(-1)
	r := reply{asked: len(query.GetHashes())}
	err := e.conn.Invoke(ctx, Method, query, &r)
	switch {
	case err != nil:
		r.answer = Answer{}
		r.answer.Outcome, r.answer.Why = outcomeOf(err)
	case r.err != nil:
		r.answer = Answer{Outcome: Senseless, Why: brief(r.err.Error())}
	}
	e.calls[r.answer.Outcome].Add(1)
	return r.answer
}

// ready reports whether the endpoint may be asked, and makes its rest longer by the call
// that is allowed when one is over.
func (e *endpoint) ready(now time.Time) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.silent < restAfter:
		return true
	case now.Before(e.resting):
		return false
	}
	e.resting = now.Add(rest)
	return true
}

// note takes what a call says of the endpoint. fair is false for a call whose time was
// too short to blame the endpoint.
func (e *endpoint) note(a *Answer, now time.Time, fair bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch a.Outcome {
	case Timeout, Unreachable:
		if !fair && a.Outcome == Timeout {
			return
		}
		if e.silent++; e.silent >= restAfter {
			e.resting = now.Add(rest)
		}
		if !e.told && e.silent >= restAfter {
			e.told = true
			e.log.Warn("an indexer does not answer; prompts are not looked up there", "endpoint", e.name, "outcome", a.Outcome.String(), "why", a.Why)
		}
	case Matched, Empty, Overloaded, TooLarge, Senseless, Rejected:
		if e.silent = 0; e.told {
			e.told = false
			e.log.Info("an indexer answers again", "endpoint", e.name)
		}
	}
}
