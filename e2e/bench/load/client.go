// Package load sends chats over kept-alive connections and notes when answers
// come: as fast as they are answered, or at a given rate.
package load

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// timeout bounds one exchange.
const timeout = 60 * time.Second

// Client is a set of connections to one proxy. Its methods must not be called
// at the same time.
type Client struct{ conns []*conn }

// Dial opens the connections. Close must be called.
func Dial(addr string, connections int) (*Client, error) {
	c := &Client{}
	for range connections {
		nc, err := net.DialTimeout("tcp", addr, timeout)
		if err != nil {
			c.Close()
			return nil, fmt.Errorf("load: %w", err)
		}
		c.conns = append(c.conns, newConn(nc))
	}
	return c, nil
}

// Close closes all connections.
func (c *Client) Close() {
	for _, each := range c.conns {
		_ = each.raw.Close()
	}
}

// Result is what came of a run.
type Result struct {
	Requests int
	Elapsed  time.Duration
	// Whole is the time to the end of each answer, First to the first byte of
	// its body, both from when the request was due.
	Whole, First []time.Duration
}

func (r *Result) add(a exchange, waited time.Duration) {
	r.Requests++
	r.Whole = append(r.Whole, waited+a.whole)
	r.First = append(r.First, waited+a.first)
}

// Closed sends a request n times, on each connection the next as soon as the last is
// answered. The first error ends the run.
func (c *Client) Closed(request []byte, n int) (Result, error) {
	return c.ClosedMix([][]byte{request}, n)
}

// ClosedMix is Closed with several requests in turn.
func (c *Client) ClosedMix(requests [][]byte, n int) (Result, error) {
	share := make(chan []byte, n)
	for i := range n {
		share <- requests[i%len(requests)]
	}
	close(share)
	return c.run(n, func(own *conn, note func(exchange, time.Duration)) error {
		for request := range share {
			a, err := own.do(request)
			if err != nil {
				return err
			}
			note(a, 0)
		}
		return nil
	})
}

// Open sends a request at the given instants after now, whatever the answers
// take. One that finds no idle connection waits, and the wait counts.
func (c *Client) Open(request []byte, at []time.Duration) (Result, error) {
	return c.OpenMix([][]byte{request}, at)
}

// OpenMix is Open with several requests in turn.
func (c *Client) OpenMix(requests [][]byte, at []time.Duration) (Result, error) {
	type arrival struct {
		at      time.Time
		request []byte
	}
	due := make(chan arrival, len(at))
	start := time.Now()
	for i, d := range at {
		due <- arrival{start.Add(d), requests[i%len(requests)]}
	}
	close(due)
	return c.run(len(at), func(own *conn, note func(exchange, time.Duration)) error {
		for next := range due {
			time.Sleep(time.Until(next.at))
			began := time.Now()
			a, err := own.do(next.request)
			if err != nil {
				return err
			}
			note(a, began.Sub(next.at))
		}
		return nil
	})
}

func (c *Client) run(n int, work func(*conn, func(exchange, time.Duration)) error) (Result, error) {
	var (
		mu     sync.Mutex
		wg     sync.WaitGroup
		errs   = make([]error, len(c.conns))
		result = Result{Whole: make([]time.Duration, 0, n), First: make([]time.Duration, 0, n)}
	)
	start := time.Now()
	for i, own := range c.conns {
		wg.Go(func() {
			errs[i] = work(own, func(a exchange, waited time.Duration) {
				mu.Lock()
				defer mu.Unlock()
				result.add(a, waited)
			})
		})
	}
	wg.Wait()
	result.Elapsed = time.Since(start)
	return result, errors.Join(errs...)
}
