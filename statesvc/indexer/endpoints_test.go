package indexer_test

import (
	"context"
	"testing"
	"time"

	"github.com/pointsman/pointsman/statesvc/indexer"
	"github.com/pointsman/pointsman/statesvc/indexer/indexertest"
	"github.com/pointsman/pointsman/statesvc/indexer/kvindexerpb"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func refusing(t *testing.T, code codes.Code) *indexertest.Indexer {
	t.Helper()
	return indexertest.Start(t, func(context.Context, *kvindexerpb.MatchExternalKvPrefixRequest) ([]byte, error) {
		return nil, status.Error(code, "as told")
	})
}

func knowing(t *testing.T) *indexertest.Indexer {
	t.Helper()
	return indexertest.Start(t, func(context.Context, *kvindexerpb.MatchExternalKvPrefixRequest) ([]byte, error) {
		return message(t, held("http://a", 1)), nil
	})
}

// Another endpoint is tried after one that cannot answer, and never after a refusal
// (engine-selection.md 11.2).
func TestMatch_moves_on(t *testing.T) {
	good := knowing(t)
	garbling := indexertest.Start(t, func(context.Context, *kvindexerpb.MatchExternalKvPrefixRequest) ([]byte, error) {
		return []byte{0xff}, nil
	})
	for name, c := range map[string]struct {
		bad   *indexertest.Indexer
		moves bool
		stays indexer.Outcome
	}{
		"unreachable": {bad: refusing(t, codes.Unavailable), moves: true},
		"timeout":     {bad: refusing(t, codes.DeadlineExceeded), moves: true},
		"overloaded":  {bad: refusing(t, codes.ResourceExhausted), moves: true},
		"senseless":   {bad: garbling, moves: true},
		"rejected":    {bad: refusing(t, codes.InvalidArgument), stays: indexer.Rejected},
		"too large":   {bad: refusing(t, codes.OutOfRange), stays: indexer.TooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			x := client(t, patient, 4, c.bad.URL, good.URL)
			for range 4 { // each is the first to be asked every other time
				a := x.Match(t.Context(), []int64{1})
				if a.Outcome != indexer.Matched {
					require.False(t, c.moves, a)
					require.Equal(t, c.stays, a.Outcome)
				}
			}
			require.Positive(t, c.bad.Calls())
			lookups := x.Counts().Lookups
			if c.moves {
				require.EqualValues(t, 4, lookups[indexer.Matched])
				return
			}
			require.EqualValues(t, 2, lookups[c.stays])
		})
	}
}

// One that hangs leaves the others their part of the time, and rests then.
func TestMatch_one_hangs(t *testing.T) {
	bad, good := indexertest.Start(t, indexertest.Hang), knowing(t)
	x := client(t, 2*time.Second, 4, bad.URL, good.URL)
	for bad.Calls() < 2 {
		require.Equal(t, indexer.Matched, x.Match(t.Context(), []int64{1}).Outcome)
	}
	require.Zero(t, x.Counts().Lookups[indexer.Timeout])
}

// With all of them down the last one's trouble is told.
func TestMatch_all_down(t *testing.T) {
	x := client(t, patient, 4, refusing(t, codes.Unavailable).URL, refusing(t, codes.Unavailable).URL)
	a := x.Match(t.Context(), []int64{1})
	require.Equal(t, indexer.Answer{Outcome: indexer.Unreachable, Why: "as told"}, a)
	counts := x.Counts()
	require.EqualValues(t, 1, counts.Endpoints[0].Calls[indexer.Unreachable])
	require.EqualValues(t, 1, counts.Endpoints[1].Calls[indexer.Unreachable])
	require.EqualValues(t, 1, counts.Lookups[indexer.Unreachable])
}
