package server

import (
	"log/slog"
	"net"
	"net/http"
	"time"
)

// Spans that bound a slow client.
const (
	readHeaderTimeout = 5 * time.Second
	readTimeout       = 15 * time.Second
	writeTimeout      = 15 * time.Second
	idleTimeout       = 2 * time.Minute
)

// Bounds of one HTTP/2 connection. Beyond its streams a client opens another connection,
// and what it sends before a handler reads is held here, so that the windows are what a
// connection may pin. A peer that is silent for so long is asked whether it is there, which
// also ends one that sends a frame slowly.
const (
	maxConnStreams = 128
	streamWindow   = 128 << 10
	connWindow     = 256 << 10
	silence        = 15 * time.Second
)

// newHTTP prepares the server of HTTP/1.1 and HTTP/2, which shares the listener with or
// without TLS.
func newHTTP(o *Options, handler http.Handler) *http.Server {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Server{
		Handler:           handler,
		TLSConfig:         o.TLS,
		MaxHeaderBytes:    o.Config.Limits.MaxHeaderBytes,
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		Protocols:         protocols,
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: maxConnStreams, MaxReceiveBufferPerStream: streamWindow, MaxReceiveBufferPerConnection: connWindow,
			SendPingTimeout: silence, PingTimeout: silence, WriteByteTimeout: writeTimeout,
		},
		ErrorLog: slog.NewLogLogger(o.Logger.Handler(), slog.LevelDebug),
	}
}

// prompted gives each connection a time for its first bytes. Where HTTP/2 may come
// unencrypted, net/http reads them to tell the protocol, without a bound and before the
// time-outs above begin. They replace this one.
type prompted struct{ net.Listener }

func (l prompted) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err == nil {
		_ = conn.SetReadDeadline(time.Now().Add(readHeaderTimeout)) // fails on one that is closed, and reads tell
	}
	return conn, err
}
