package soak

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/pointsman/pointsman/e2e/soak/engine"
)

// patience bounds how long a client that is going to leave stays.
const patience = 30 * time.Millisecond

// abort sends a request on a connection of its own and leaves in the phase of
// the kind, by FIN or by RST.
func (c *client) abort(ctx context.Context, i int, kind Kind) string {
	dialer := net.Dialer{Timeout: answerWithin}
	conn, err := dialer.DialContext(ctx, "tcp", c.addr)
	if err != nil {
		return failure(err)
	}
	defer func() { _ = conn.Close() }()
	random := c.plan.random(i, useLeave)
	if tcp, ok := conn.(*net.TCPConn); ok && random.IntN(2) == 0 {
		_ = tcp.SetLinger(0)
	}
	if err := conn.SetDeadline(time.Now().Add(answerWithin)); err != nil {
		return failure(err)
	}
	if _, err := conn.Write(c.part(i, kind)); err != nil {
		return failure(err)
	}
	if kind == AbortStream {
		return leaveStream(conn)
	}
	return leaveSilence(conn, time.Duration(random.Int64N(int64(patience))))
}

// part is as much of a request as the client sends.
func (c *client) part(i int, kind Kind) []byte {
	how := engine.Wait
	if kind == AbortStream {
		how = engine.Endless
	}
	body := c.chat(i, engine.Model, kind == AbortStream)
	head := fmt.Sprintf("POST %s HTTP/1.1\r\nhost: %s\r\ncontent-type: application/json\r\n%s: %s\r\ncontent-length: %d\r\n", chatPath, c.addr, engine.Header, how, len(body))
	if kind == AbortHeaders {
		return []byte(head)
	}
	if kind == AbortPaused {
		body = body[:len(body)/2]
	}
	return []byte(head + "\r\n" + body)
}

// leaveSilence stays for a while, in which nothing may be answered.
func leaveSilence(conn net.Conn, stay time.Duration) string {
	if err := conn.SetReadDeadline(time.Now().Add(stay)); err != nil {
		return failure(err)
	}
	answer := make([]byte, 64)
	n, err := conn.Read(answer)
	switch {
	case n > 0:
		return fmt.Sprintf("answered %q", firstLine(answer[:n]))
	case isTimeout(err):
		return aborted
	case errors.Is(err, io.EOF):
		return "connection closed"
	}
	return failure(err)
}

// leaveStream stays until the first event.
func leaveStream(conn net.Conn) string {
	const good = "HTTP/1.1 200"
	var got []byte
	piece := make([]byte, 4<<10)
	for !bytes.Contains(got, []byte("data: ")) {
		n, err := conn.Read(piece)
		if got = append(got, piece[:n]...); err != nil {
			return failure(err)
		}
		if len(got) >= len(good) && !bytes.HasPrefix(got, []byte(good)) {
			return fmt.Sprintf("answered %q", firstLine(got))
		}
	}
	return aborted
}

func firstLine(b []byte) []byte {
	line, _, _ := bytes.Cut(b, []byte("\r\n"))
	return line
}
