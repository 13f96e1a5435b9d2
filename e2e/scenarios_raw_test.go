package e2e

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
)

// rawConn is a client that writes whatever it is told to, right or wrong.
type rawConn struct {
	r      *rig
	conn   *net.TCPConn
	reader *bufio.Reader
}

// dial opens a connection to the proxy; it is closed when the test ends.
func (r *rig) dial() *rawConn {
	r.t.Helper()
	conn, err := net.DialTimeout("tcp", strings.TrimPrefix(r.url, "http://"), 10*time.Second)
	require.NoError(r.t, err)
	r.t.Cleanup(func() { conn.Close() })
	require.NoError(r.t, conn.SetDeadline(time.Now().Add(time.Minute)))
	return &rawConn{r, conn.(*net.TCPConn), bufio.NewReader(conn)}
}

// write sends bytes as they are. A proxy that has answered already may have
// closed the connection.
func (c *rawConn) write(text string) { _, _ = io.WriteString(c.conn, text) }

// reset leaves in the rudest way, without a word.
func (c *rawConn) reset() {
	_ = c.conn.SetLinger(0)
	c.conn.Close()
}

// finish says that nothing more will be written.
func (c *rawConn) finish() { _ = c.conn.CloseWrite() }

// head reads the status line and header of an answer, with its body still to
// read.
func (c *rawConn) head() (*http.Response, error) { return http.ReadResponse(c.reader, nil) }

// read reads a whole answer. Status 0 means that the proxy closed the connection
// without one.
func (c *rawConn) read() answer {
	c.r.t.Helper()
	resp, err := c.head()
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || isReset(err) {
		return answer{}
	}
	require.NoError(c.r.t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(c.r.t, err)
	return answer{resp.StatusCode, resp.Header, string(body)}
}

func isReset(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && !op.Timeout()
}

// raw sends one text and reads the answer.
func (r *rig) raw(text string) answer {
	r.t.Helper()
	c := r.dial()
	defer c.conn.Close()
	c.write(text)
	return c.read()
}

// rawPost writes a request with the given header lines and an announced length.
func rawPost(path, body string, lines ...string) string {
	return rawHead(path, append(lines, fmt.Sprintf("Content-Length: %d", len(body)))...) + body
}

// rawHead writes the head of a request.
func rawHead(path string, lines ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "POST %s HTTP/1.1\r\nHost: models.example\r\nContent-Type: application/json\r\n", path)
	for _, l := range lines {
		b.WriteString(l + "\r\n")
	}
	b.WriteString("\r\n")
	return b.String()
}

// rawChunks writes a chunked body, with trailer lines after it.
func rawChunks(parts []string, trailer ...string) string {
	var b strings.Builder
	for _, p := range parts {
		fmt.Fprintf(&b, "%x\r\n%s\r\n", len(p), p)
	}
	b.WriteString("0\r\n")
	for _, l := range trailer {
		b.WriteString(l + "\r\n")
	}
	b.WriteString("\r\n")
	return b.String()
}
