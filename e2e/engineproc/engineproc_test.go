package engineproc_test

import (
	"context"
	"encoding/json"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pointsman/pointsman/e2e/engineproc"
)

type engines struct{ stopped bool }

func (e *engines) Addrs() []string { return []string{"127.0.0.1:1", "127.0.0.1:2"} }
func (e *engines) Stop()           { e.stopped = true }

func TestServe_says_where_it_listens_and_stops(t *testing.T) {
	r, w := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	var e engines
	done := make(chan error, 1)
	go func() { done <- engineproc.Serve(ctx, &e, w) }()
	var hello engineproc.Hello
	require.NoError(t, json.NewDecoder(r).Decode(&hello))
	require.Equal(t, e.Addrs(), hello.Addrs)
	cancel()
	require.NoError(t, <-done)
	require.True(t, e.stopped)
}

func TestServe_stops_engines_whose_parent_is_gone(t *testing.T) {
	r, w := io.Pipe()
	require.NoError(t, r.Close())
	var e engines
	require.ErrorIs(t, engineproc.Serve(t.Context(), &e, w), io.ErrClosedPipe)
	require.True(t, e.stopped)
}
