// Package windowhold lets HTTP/2 connections say less often that they may be sent more.
//
// net/http gives the window back with each 4 KiB that a handler reads, in a write of its own:
// a system call here and a wake-up of the peer, for every call of a stream that is about to
// be answered with a write anyway. A connection of this package keeps such writes for the next
// one, as long as what they give back is little of any window.
package windowhold

import (
	"encoding/binary"
	"net"
)

// What a WINDOW_UPDATE frame is (RFC 9113, 6.9).
const (
	frameBytes  = 13
	payload     = 4
	updateType  = 8
	incrementAt = 9
)

// keptBytes bounds the buffer that a connection keeps between writes: a small reply with what
// is held before it.
const keptBytes = 1 << 10

// Listener gives a listener whose connections hold back window updates, of all streams together
// at most so many bytes. That has to be less than what a peer needs to go on: a part of the
// smallest window that the server gives. Of connections with TLS nothing is held back, since
// frames are not seen.
func Listener(l net.Listener, most int) net.Listener { return &listener{l, most} }

type listener struct {
	net.Listener
	most int
}

func (l *listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c, most: l.most}, nil
}

// conn has one writer at a time, as every connection of net/http.
type conn struct {
	net.Conn
	most   int
	credit int    // that held gives back
	held   []byte // whole frames, to be written before anything else
}

// Write keeps p when it is nothing but window updates and there is room for what they give
// back. Nothing is ever written in another order.
func (c *conn) Write(p []byte) (int, error) {
	if credit, ok := updates(p); ok && c.credit+credit <= c.most {
		c.held = append(c.held, p...)
		c.credit += credit
		return len(p), nil
	}
	if len(c.held) == 0 {
		return c.Conn.Write(p)
	}
	before := len(c.held)
	c.held = append(c.held, p...)
	n, err := c.Conn.Write(c.held)
	if c.held, c.credit = c.held[:0], 0; cap(c.held) > keptBytes {
		c.held = nil
	}
	return max(0, n-before), err
}

// updates tells how much whole window updates, and nothing else, give back.
func updates(p []byte) (credit int, ok bool) {
	if len(p) == 0 || len(p)%frameBytes != 0 {
		return 0, false
	}
	for ; len(p) > 0; p = p[frameBytes:] {
		if p[0] != 0 || p[1] != 0 || p[2] != payload || p[3] != updateType || p[4] != 0 {
			return 0, false
		}
		credit += int(binary.BigEndian.Uint32(p[incrementAt:]))
	}
	return credit, true
}
