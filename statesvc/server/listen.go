package server

import (
	"log/slog"
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
// also ends one that sends a frame slowly. The streams are as many as Envoy puts on a
// connection of which it knows no bound yet: what it sends in a burst before it has read
// ours would be refused.
const (
	maxConnStreams = 1024
	streamWindow   = 128 << 10
	connWindow     = 256 << 10
	heldWindow     = streamWindow / 4
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
