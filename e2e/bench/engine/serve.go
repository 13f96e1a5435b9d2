package engine

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/http/httputil"
	"strconv"
	"sync"
	"time"
)

// readSize is how much of a body is read at once. Only a body of at most this
// size can ask for a stream.
const readSize = 64 << 10

// bodies are buffers for request bodies, shared by all connections: thousands
// are open and few are busy.
//
//nolint:gochecknoglobals // a pool has no state to speak of
var bodies = sync.Pool{New: func() any { b := make([]byte, readSize); return &b }}

// request is what matters of a request.
type request struct {
	get, chunked bool
	path         string
	length       int
}

// serve answers requests on a connection until it ends.
func serve(c net.Conn, interval time.Duration) {
	r := bufio.NewReaderSize(c, 4<<10)
	for {
		req, err := readHead(r)
		if err != nil {
			return
		}
		stream, err := readBody(r, &req)
		if err != nil {
			return
		}
		if err := answer(c, &req, stream, interval); err != nil {
			return
		}
	}
}

func answer(c net.Conn, req *request, stream bool, interval time.Duration) (err error) {
	switch {
	case req.get:
		_, err = c.Write(page(req.path))
	case stream:
		err = writeStream(c, interval)
	default:
		_, err = c.Write(wholeAnswer)
	}
	return err
}

var errBadRequest = errors.New("the request line is not one")

func readHead(r *bufio.Reader) (request, error) {
	var req request
	line, err := r.ReadSlice('\n')
	if err != nil {
		return req, err
	}
	method, rest, ok := bytes.Cut(line, []byte(" "))
	if !ok {
		return req, errBadRequest
	}
	path, _, _ := bytes.Cut(rest, []byte(" "))
	if req.get = string(method) == "GET"; req.get {
		req.path = string(path)
	}
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return req, err
		}
		if len(line) <= 2 {
			return req, nil
		}
		req.header(line)
	}
}

func (r *request) header(line []byte) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	switch {
	case len(name) == len("content-length") && bytes.EqualFold(name, []byte("content-length")):
		r.length, _ = strconv.Atoi(string(bytes.TrimSpace(value)))
	case len(name) == len("transfer-encoding") && bytes.EqualFold(name, []byte("transfer-encoding")):
		r.chunked = true
	}
}

// readBody reads the body and reports whether it asks for a stream.
func readBody(r *bufio.Reader, req *request) (stream bool, err error) {
	buffer, _ := bodies.Get().(*[]byte)
	defer bodies.Put(buffer)
	if req.chunked {
		n, err := readChunked(r, *buffer)
		return asksForStream((*buffer)[:n]), err
	}
	n := min(req.length, readSize)
	if _, err := io.ReadFull(r, (*buffer)[:n]); err != nil {
		return false, err
	}
	stream = req.length == n && asksForStream((*buffer)[:n])
	for left := req.length - n; left > 0; left -= n {
		n = min(left, readSize)
		if _, err := io.ReadFull(r, (*buffer)[:n]); err != nil {
			return false, err
		}
	}
	return stream, nil
}

func readChunked(r *bufio.Reader, buffer []byte) (int, error) {
	body := httputil.NewChunkedReader(r)
	n, err := io.ReadFull(body, buffer)
	if err == nil {
		_, err = io.Copy(io.Discard, body)
	}
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return n, err
	}
	_, err = r.ReadSlice('\n') // of the empty trailers
	return n, err
}

func asksForStream(body []byte) bool { return bytes.Contains(body, []byte(`"stream":true`)) }
