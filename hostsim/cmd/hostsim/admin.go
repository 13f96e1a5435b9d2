package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/pointsman/pointsman/hostsim"
)

// admin serves the filter's metrics on a listener of its own, so that no path of the
// proxy is taken. The zero value serves nothing.
type admin struct {
	server *http.Server
	addr   string
	served chan struct{}
}

// startAdmin listens on addr; empty is nowhere.
func startAdmin(ctx context.Context, addr string, metrics func() []hostsim.Metric) (*admin, error) {
	if addr == "" {
		return &admin{}, nil
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("%w; choose another with --admin-listen", err)
	}
	a := &admin{
		server: &http.Server{Handler: adminHandler(metrics), ReadHeaderTimeout: 10 * time.Second},
		addr:   listener.Addr().String(), served: make(chan struct{}),
	}
	go func() {
		defer close(a.served)
		_ = a.server.Serve(listener)
	}()
	return a, nil
}

func adminHandler(metrics func() []hostsim.Metric) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		var text bytes.Buffer
		if err := hostsim.WritePrometheus(&text, metrics()); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("content-type", "text/plain; version=0.0.4; charset=utf-8")
		_, _ = w.Write(text.Bytes())
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "the filter's metrics are at GET /metrics", http.StatusNotFound)
	})
	return mux
}

func (a *admin) stop() error {
	if a.server == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopWithin)
	defer cancel()
	err := a.server.Shutdown(ctx)
	if err != nil {
		err = errors.Join(err, a.server.Close())
	}
	<-a.served
	return err
}
