package indexer_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/pointsman/pointsman/statesvc/indexer"
	"github.com/stretchr/testify/require"
)

// patient is more time than any answer takes; tests of time-outs have less.
const patient = 20 * time.Second

// client asks endpoints, with so much time and so many places.
func client(t testing.TB, within time.Duration, places int, endpoints ...string) *indexer.Client {
	t.Helper()
	c := indexer.New(indexer.Options{Endpoints: endpoints, Timeout: within, MaxInflight: places, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, c.Start())
	t.Cleanup(c.Close)
	return c
}
