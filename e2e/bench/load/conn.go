package load

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"
)

// conn is one kept-alive connection.
type conn struct {
	raw net.Conn
	r   *bufio.Reader
}

func newConn(raw net.Conn) *conn { return &conn{raw: raw, r: bufio.NewReaderSize(raw, 16<<10)} }

// exchange is one request and its answer.
type exchange struct {
	first, whole time.Duration
}

// do sends a request and reads its answer. Any status but 200 is an error.
func (c *conn) do(request []byte) (exchange, error) {
	var x exchange
	start := time.Now()
	if err := c.raw.SetDeadline(start.Add(timeout)); err != nil {
		return x, err
	}
	if _, err := c.raw.Write(request); err != nil {
		return x, fmt.Errorf("send: %w", err)
	}
	length, chunked, err := c.head()
	if err != nil {
		return x, fmt.Errorf("read the answer: %w", err)
	}
	if length > 0 || chunked {
		if _, err := c.r.Peek(1); err != nil {
			return x, fmt.Errorf("read the answer: %w", err)
		}
	}
	x.first = time.Since(start)
	if chunked {
		err = c.skipChunks()
	} else {
		_, err = c.r.Discard(length)
	}
	x.whole = time.Since(start)
	return x, err
}

// head reads status and headers.
func (c *conn) head() (length int, chunked bool, err error) {
	line, err := c.r.ReadSlice('\n')
	if err != nil {
		return 0, false, err
	}
	good := bytes.HasPrefix(line, []byte("HTTP/1.1 200"))
	status := string(bytes.TrimSpace(line))
	for {
		line, err := c.r.ReadSlice('\n')
		if err != nil {
			return 0, false, err
		}
		if len(line) <= 2 {
			break
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		switch {
		case bytes.EqualFold(name, []byte("content-length")):
			length, err = strconv.Atoi(string(bytes.TrimSpace(value)))
		case bytes.EqualFold(name, []byte("transfer-encoding")):
			chunked = true
		}
		if err != nil {
			return 0, false, err
		}
	}
	if !good {
		body, _ := io.ReadAll(io.LimitReader(c.r, int64(min(length, 512))))
		return 0, false, fmt.Errorf("%s: %s", status, body)
	}
	return length, chunked, nil
}

// skipChunks reads a chunked body to its end.
func (c *conn) skipChunks() error {
	for {
		line, err := c.r.ReadSlice('\n')
		if err != nil {
			return err
		}
		size, err := strconv.ParseInt(string(bytes.TrimSpace(line)), 16, 32)
		if err != nil {
			return err
		}
		if _, err := c.r.Discard(int(size) + 2); err != nil {
			return err
		}
		if size == 0 {
			return nil
		}
	}
}
