package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// What a call can end with, beside the caller's context and the transport's errors.
var (
	// ErrBusy says that as many calls as allowed are in flight.
	ErrBusy = errors.New("too many /tokenize calls are in flight")
	// ErrNoEngine says that no engine of the model is known to be up.
	ErrNoEngine = errors.New("no engine to ask")
	// ErrAnswer says that an engine's answer cannot be taken.
	ErrAnswer = errors.New("the answer of /tokenize is not understood")
	// ErrRefused says that the engine refused the question with a 4xx status: it
	// would refuse the request too, or has no /tokenize.
	ErrRefused = errors.New("the engine refuses to tokenize")
	// ErrClosed says that the client was closed.
	ErrClosed = errors.New("the tokenize client is closed")
)

// Doer is the part of an http.Client that is used. It must not follow redirects to
// other hosts.
type Doer interface {
	Do(*http.Request) (*http.Response, error)
}

// Options are a Client's facts.
type Options struct {
	HTTP Doer
	// BaseURL gives scheme://host:port of an engine to ask, a different one each time
	// if there are several, or false.
	BaseURL func() (string, bool)
	// MaxCalls is how many calls may be in flight; 32 if zero.
	MaxCalls int
	// Timeout is the most that a call takes, whatever its callers' deadlines are; 5 s
	// if zero.
	Timeout time.Duration
}

// Client asks engines.
type Client struct {
	opts   Options
	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	done   sync.WaitGroup

	mu     sync.Mutex
	closed bool
	calls  map[string]*call
}

// call is one question in flight and those who wait for it.
type call struct {
	cancel  context.CancelFunc
	waiting int
	done    chan struct{}
	ids     []uint32
	err     error
}

// New makes a client.
func New(opts Options) *Client {
	if opts.MaxCalls == 0 {
		opts.MaxCalls = 32
	}
	if opts.Timeout == 0 {
		opts.Timeout = 5 * time.Second
	}
	ctx, cancel := context.WithCancel(context.Background())
	return &Client{opts: opts, ctx: ctx, cancel: cancel, calls: map[string]*call{}}
}

// Close ends the calls in flight and waits for their ends.
func (c *Client) Close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.cancel()
	c.done.Wait()
}

// Tokenize asks a question. Callers of equal questions share the tokens and do not
// change them. A call whose last caller has left is ended.
func (c *Client) Tokenize(ctx context.Context, question string) ([]uint32, error) {
	k, err := c.join(question)
	if err != nil {
		return nil, err
	}
	defer c.leave(k)
	select {
	case <-k.done:
		return k.ids, k.err
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for /tokenize: %w", ctx.Err())
	}
}

func (c *Client) join(question string) (*call, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k, ok := c.calls[question]; ok && k.waiting > 0 {
		k.waiting++
		return k, nil
	} else if ok {
		return nil, ErrBusy // the call before is just being ended
	}
	switch {
	case c.closed:
		return nil, ErrClosed
	case len(c.calls) >= c.opts.MaxCalls:
		return nil, ErrBusy
	}
	ctx, cancel := context.WithTimeout(c.ctx, c.opts.Timeout)
	k := &call{cancel: cancel, waiting: 1, done: make(chan struct{})}
	c.calls[question] = k
	c.done.Go(func() {
		k.ids, k.err = c.ask(ctx, question)
		cancel()
		c.mu.Lock()
		delete(c.calls, question)
		c.mu.Unlock()
		close(k.done)
	})
	return k, nil
}

// leave ends a call that nobody waits for any more. It keeps its place among the calls
// in flight until it has ended.
func (c *Client) leave(k *call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k.waiting--; k.waiting == 0 {
		k.cancel()
	}
}

// ask makes one call.
func (c *Client) ask(ctx context.Context, question string) ([]uint32, error) {
	base, ok := c.opts.BaseURL()
	if !ok {
		return nil, ErrNoEngine
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/tokenize", strings.NewReader(question))
	if err != nil {
		return nil, fmt.Errorf("POST /tokenize: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "pointsman-statesvc")
	resp, err := c.opts.HTTP.Do(req)
	if err != nil {
		return nil, fmt.Errorf("POST /tokenize: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	limit := int64(64<<10 + 16*len(question)) // a token is a byte of text at least and a dozen bytes of JSON at most
	body, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("POST /tokenize: %w", err)
	case resp.StatusCode/100 == 4:
		return nil, fmt.Errorf("POST /tokenize: %w: status %d", ErrRefused, resp.StatusCode)
	case resp.StatusCode/100 != 2:
		return nil, fmt.Errorf("POST /tokenize: status %d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
	case int64(len(body)) > limit:
		return nil, fmt.Errorf("%w: it has more than %d bytes", ErrAnswer, limit)
	}
	return answer(body)
}
