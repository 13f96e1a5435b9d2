package load

import (
	"sync"
	"time"

	"github.com/pointsman/pointsman/hostsim/traffic"
)

// Workload runs a workload to its end, on each connection one request at a time. With
// named, requests carry their session's header.
func (c *Client) Workload(w traffic.Workload, named bool) (Result, error) {
	p := &parties{workload: w, changed: make(chan struct{}, 1)}
	defer p.wait.Wait()
	return c.run(0, func(own *conn, note func(exchange, time.Duration)) error {
		for {
			party, request, ok := p.next()
			if !ok {
				return nil
			}
			message := Post(string(request.Body))
			if named {
				message = InSession(message, request.Session)
			}
			a, err := own.do(message)
			if err != nil {
				p.breaks()
				return err
			}
			note(a, 0)
			p.answered(party)
		}
	})
}

// parties give connections the next request that is due.
type parties struct {
	mu       sync.Mutex
	workload traffic.Workload
	broken   bool          // a connection failed
	changed  chan struct{} // has a token when somebody may have become ready
	wait     sync.WaitGroup
}

// next waits for a request; ok is false when there are no more.
func (p *parties) next() (party *traffic.Party, request traffic.Request, ok bool) {
	for {
		p.mu.Lock()
		over := p.broken || p.workload.Done()
		if !over {
			party, request, ok = p.workload.Next()
		}
		p.mu.Unlock()
		if over || ok {
			p.tell() // the next one that waits
			return party, request, ok
		}
		<-p.changed
	}
}

// tell wakes one that waits. It wakes the next.
func (p *parties) tell() {
	select {
	case p.changed <- struct{}{}:
	default:
	}
}

// answered lets a party think, and puts it back into line.
func (p *parties) answered(party *traffic.Party) {
	p.mu.Lock()
	pause, more := p.workload.Answered(party)
	p.mu.Unlock()
	if !more {
		p.tell()
		return
	}
	p.wait.Go(func() {
		time.Sleep(pause)
		p.mu.Lock()
		p.workload.Ready(party)
		p.mu.Unlock()
		p.tell()
	})
}

// breaks ends the run for all connections.
func (p *parties) breaks() {
	p.mu.Lock()
	p.broken = true
	p.mu.Unlock()
	p.tell()
}
