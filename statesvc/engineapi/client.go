package engineapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"
)

// Bounds of answers that are not the metrics page.
const (
	maxHealthBytes = 64 << 10
	maxInfoBytes   = 4 << 20
)

// ErrTooLarge says that an answer passed its size limit.
var ErrTooLarge = errors.New("answer is too large")

// Options are a Client's facts.
type Options struct {
	BaseURL         string // scheme://host:port
	HealthPath      string
	MetricsPath     string
	MaxMetricsBytes int64
	// Address gives the engine's present IP and port; the host of BaseURL is only
	// a name for TLS and the Host header.
	Address func() netip.AddrPort
}

// Client calls one engine.
type Client struct {
	opts Options
	http *http.Client
}

// New returns a client that has not connected yet.
func New(opts Options) *Client {
	dialer := &net.Dialer{KeepAlive: 15 * time.Second}
	transport := &http.Transport{
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, network, opts.Address().String())
		},
		MaxIdleConnsPerHost:    2,
		IdleConnTimeout:        30 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
	}
	return &Client{opts: opts, http: &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Close drops idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// StatusError is an answer other than 2xx.
type StatusError struct {
	Path   string
	Status int
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("GET %s: status %d %s", e.Path, e.Status, http.StatusText(e.Status))
}

// Probe asks the engine whether it is well: nil is a 2xx answer.
func (c *Client) Probe(ctx context.Context) error {
	_, err := c.get(ctx, c.opts.HealthPath, maxHealthBytes)
	if errors.Is(err, ErrTooLarge) {
		return nil // it answered; the text does not matter
	}
	return err
}

// Metrics reads the metrics page.
func (c *Client) Metrics(ctx context.Context) ([]byte, error) {
	return c.get(ctx, c.opts.MetricsPath, c.opts.MaxMetricsBytes)
}

// get reads one answer of at most limit bytes, after any decompression.
func (c *Client) get(ctx context.Context, path string, limit int64) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.opts.BaseURL+path, nil)
	if err != nil {
		return nil, fmt.Errorf("GET %s: %w", path, err)
	}
	req.Header.Set("User-Agent", "pointsman-statesvc")
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("GET %s: %w", path, errors.Unwrap(err))
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	switch {
	case resp.StatusCode/100 != 2:
		return nil, &StatusError{Path: path, Status: resp.StatusCode}
	case err != nil:
		return nil, fmt.Errorf("GET %s: %w", path, err)
	case int64(len(body)) > limit:
		return nil, fmt.Errorf("GET %s: %w: more than %d bytes", path, ErrTooLarge, limit)
	}
	return body, nil
}

// Refused reports whether err says that nothing listens at the address, which
// only a process that is gone explains.
func Refused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }

// TimedOut reports whether err is an answer that did not come in time.
func TimedOut(err error) bool {
	var timeout net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout()
}
