package windowhold_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pointsman/pointsman/statesvc/windowhold"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/net/http2"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const most = 10_000

// recorded is a connection that notes what is written at once.
type recorded struct {
	net.Conn
	writes []string
	err    error
}

func (r *recorded) Write(p []byte) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	r.writes = append(r.writes, string(p))
	return len(p), nil
}

type one struct {
	net.Listener
	conn net.Conn
}

func (o one) Accept() (net.Conn, error) {
	if o.conn == nil {
		return nil, net.ErrClosed
	}
	return o.conn, nil
}

func accepted(t *testing.T) (*recorded, net.Conn) {
	t.Helper()
	under := &recorded{}
	c, err := windowhold.Listener(one{conn: under}, most).Accept()
	require.NoError(t, err)
	return under, c
}

func frames(t *testing.T, write func(f *http2.Framer) error) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, write(http2.NewFramer(&b, nil)))
	return b.String()
}

func update(t *testing.T, streams, by uint32) string {
	t.Helper()
	return frames(t, func(f *http2.Framer) (err error) {
		for i := range streams {
			err = errors.Join(err, f.WriteWindowUpdate(i, by))
		}
		return err
	})
}

func write(t *testing.T, c net.Conn, texts ...string) {
	t.Helper()
	for _, text := range texts {
		n, err := c.Write([]byte(text))
		require.NoError(t, err)
		require.Equal(t, len(text), n)
	}
}

// Updates go out before what is written next, in their order.
func TestConn_holdsUpdates(t *testing.T) {
	under, c := accepted(t)
	data := frames(t, func(f *http2.Framer) error { return f.WriteData(1, false, []byte("reply")) })
	first, second := update(t, 2, 1000), update(t, 1, 7)
	write(t, c, data, first, second)
	require.Equal(t, []string{data}, under.writes)
	write(t, c, data)
	require.Equal(t, []string{data, first + second + data}, under.writes)
	write(t, c, data)
	require.Equal(t, data, under.writes[2], "nothing twice")
}

// Enough to go on is never held back.
func TestConn_holdsLittle(t *testing.T) {
	under, c := accepted(t)
	write(t, c, update(t, 2, 4096))
	require.Empty(t, under.writes)
	write(t, c, update(t, 2, 4096))
	require.Equal(t, []string{update(t, 2, 4096) + update(t, 2, 4096)}, under.writes)
	write(t, c, update(t, 1, most), update(t, 1, 1))
	require.Len(t, under.writes, 2, "what is given back is counted anew")
	write(t, c, update(t, 1, 1<<31-1))
	require.Len(t, under.writes, 3)
}

func TestConn_writesAllElse(t *testing.T) {
	both := update(t, 1, 1) + frames(t, func(f *http2.Framer) error { return f.WritePing(true, [8]byte{}) })
	for name, text := range map[string]string{
		"an update and more":     both,
		"more and an update":     both[13:] + both[:13],
		"a part of one":          update(t, 1, 1)[:12],
		"HTTP/1.1":               "HTTP/1.1 200 OK\r\n\r\n",
		"thirteen other letters": "thirteen more",
		"nothing":                "",
	} {
		under, c := accepted(t)
		write(t, c, text)
		require.Equal(t, []string{text}, under.writes, name)
	}
}

func TestConn_errors(t *testing.T) {
	under, c := accepted(t)
	write(t, c, update(t, 1, 1))
	under.err = io.ErrClosedPipe
	n, err := c.Write([]byte("data"))
	require.Zero(t, n)
	require.ErrorIs(t, err, io.ErrClosedPipe)
	_, err = windowhold.Listener(one{}, most).Accept()
	require.ErrorIs(t, err, net.ErrClosed)
}

// A body many times the windows arrives whole, although nothing is answered meanwhile.
func TestListener_largeBodies(t *testing.T) {
	const size = 8 << 20
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	under, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := &http.Server{
		Protocols: protocols, HTTP2: &http.HTTP2Config{MaxReceiveBufferPerStream: 64 << 10, MaxReceiveBufferPerConnection: 64 << 10},
		Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			n, err := io.Copy(io.Discard, r.Body)
			if err != nil || n != size {
				panic(http.ErrAbortHandler)
			}
		}),
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(windowhold.Listener(under, 32<<10)) }()
	client := &http.Client{Transport: &http.Transport{Protocols: protocols}, Timeout: 60 * time.Second}
	for range 3 {
		resp, err := client.Post("http://"+under.Addr().String(), "text/plain", strings.NewReader(strings.Repeat("x", size)))
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, http.StatusOK, resp.StatusCode)
	}
	client.CloseIdleConnections()
	require.NoError(t, server.Close())
	require.ErrorIs(t, <-served, http.ErrServerClosed)
}
