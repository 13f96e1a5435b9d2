package faultproxy

import (
	"bytes"
	"context"
	"io"
	"maps"
	"net/http"
	"strconv"
	"time"

	"github.com/pointsman/pointsman/core/wire"
)

// meet lets a call meet its fault.
func (p *Proxy) meet(w http.ResponseWriter, r *http.Request, c *call, drawn plan) {
	switch drawn.fault {
	case Pass, faultCount:
		p.reply(w, p.deliver(c))
	case Delay:
		if p.sleep(drawn.delay) {
			p.reply(w, p.deliver(c))
		}
	case DropRequest:
		hangUp(w, nil)
	case DropReply:
		p.deliver(c)
		hangUp(w, nil)
	case CutReply:
		hangUp(w, half(p.deliver(c)))
	case Duplicate:
		p.deliver(c)
		p.reply(w, p.deliver(c))
	case Reorder:
		p.hold(c, drawn.hold)
		hangUp(w, nil)
	case Garbage:
		p.reply(w, answer{status: http.StatusOK, header: c.header, body: drawn.noise})
	case NotHTTP:
		hangUp(w, drawn.noise)
	case Stale:
		p.reply(w, p.first())
	case Refuse:
		p.reply(w, answer{status: http.StatusServiceUnavailable, body: []byte("not today")})
	case HalfOpen:
		select {
		case <-r.Context().Done():
		case <-p.ctx.Done():
		}
	}
}

// deliver passes a call on, and after it the held ones whose turn has come. It is not cut
// short by the caller: a report that is on its way arrives.
func (p *Proxy) deliver(c *call) answer {
	a := p.pass(c)
	for _, late := range p.release() {
		p.pass(&late)
	}
	return a
}

func (p *Proxy) pass(c *call) answer {
	if o := p.options.Observer; o != nil {
		o.Delivering(c.n)
	}
	a := p.send(p.ctx, c)
	if o := p.options.Observer; o != nil {
		o.Delivered(c.n, a.status)
	}
	return a
}

// send makes the call. An answer without a status is a failure.
func (p *Proxy) send(ctx context.Context, c *call) answer {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+p.options.Target+c.path, bytes.NewReader(c.body))
	if err != nil {
		return answer{}
	}
	for _, name := range []string{"Content-Type", "Accept", "Authorization", wire.ObserveHeader} {
		if v := c.header.Get(name); v != "" {
			req.Header.Set(name, v)
		}
	}
	resp, err := p.client.RoundTrip(req)
	if err != nil {
		return answer{}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return answer{}
	}
	a := answer{status: resp.StatusCode, header: resp.Header, body: body}
	p.remember(a)
	return a
}

func (p *Proxy) hold(c *call, others int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held = append(p.held, heldCall{*c, others})
}

// release takes out the held calls whose turn has come with one more delivery.
func (p *Proxy) release() (due []call) {
	p.mu.Lock()
	defer p.mu.Unlock()
	still := p.held[:0]
	for _, h := range p.held {
		h.others--
		if h.others > 0 {
			still = append(still, h)
		} else {
			due = append(due, h.call)
		}
	}
	p.held = still
	return due
}

func (p *Proxy) remember(a answer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.last.status == 0 && a.status == http.StatusOK {
		p.last = a
	}
}

// first is the first good answer there was, a refusal before there is one.
func (p *Proxy) first() answer {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.last.status == 0 {
		return answer{status: http.StatusServiceUnavailable}
	}
	return p.last
}

// reply answers, or hangs up when the state service did not answer.
func (p *Proxy) reply(w http.ResponseWriter, a answer) {
	if a.status == 0 {
		hangUp(w, nil)
		return
	}
	maps.Copy(w.Header(), http.Header{"Content-Type": a.header["Content-Type"]})
	w.Header().Set("Content-Length", strconv.Itoa(len(a.body)))
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body) // a caller that has left is no matter of ours
}

// half is the beginning of an answer that announces more.
func half(a answer) []byte {
	head := "HTTP/1.1 200 OK\r\ncontent-type: application/x-protobuf\r\ncontent-length: " + strconv.Itoa(len(a.body)+1) + "\r\n\r\n"
	return append([]byte(head), a.body[:len(a.body)/2]...)
}

// hangUp writes raw bytes and closes the connection.
func hangUp(w http.ResponseWriter, text []byte) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil { // every connection is HTTP/1 over TCP, which can be taken over
		return
	}
	_, _ = conn.Write(text)
	_ = conn.Close()
}

// sleep waits and reports whether the proxy still runs.
func (p *Proxy) sleep(span time.Duration) bool {
	timer := time.NewTimer(span)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-p.ctx.Done():
		return false
	}
}
