package coalesce_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pointsman/pointsman/statesvc/coalesce"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type group = coalesce.Group[string, int]

// after is work that takes a while and counts how often it was begun.
func after(d time.Duration, begun *int) func(context.Context) (int, error) {
	return func(ctx context.Context) (int, error) {
		*begun++
		select {
		case <-time.After(d):
			return 42, nil
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

func TestGroup_does_identical_work_once(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g group
		var wg sync.WaitGroup
		begun, other := 0, 0
		joined := make([]bool, 100)
		for i := range joined {
			wg.Go(func() {
				value, shared, err := g.Do(t.Context(), "same", after(time.Second, &begun))
				require.NoError(t, err)
				require.Equal(t, 42, value)
				joined[i] = shared
			})
		}
		wg.Go(func() {
			_, shared, err := g.Do(t.Context(), "other", after(time.Second, &other))
			require.NoError(t, err)
			require.False(t, shared)
		})
		synctest.Wait()
		require.Equal(t, 101, g.Waiting())
		wg.Wait()
		require.Zero(t, g.Waiting())
		require.Equal(t, 1, begun)
		require.Equal(t, 1, other)
		alone := 0
		for _, shared := range joined {
			if !shared {
				alone++
			}
		}
		require.Equal(t, 1, alone, "one started it and the others joined")

		_, shared, err := g.Do(t.Context(), "same", after(time.Second, &begun))
		require.NoError(t, err)
		require.False(t, shared)
		require.Equal(t, 2, begun, "nothing is kept")
	})
}

// The one who started it waits shortly; the one who joined gets the value.
func TestGroup_each_waits_until_its_own_deadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g group
		var wg sync.WaitGroup
		begun := 0
		for i, patience := range []time.Duration{time.Second, time.Minute} {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				_, _, err := g.Do(ctx, "same", after(30*time.Second, &begun))
				if i == 0 {
					require.ErrorIs(t, err, context.DeadlineExceeded)
				} else {
					require.NoError(t, err)
				}
			})
			synctest.Wait()
		}
		wg.Wait()
		require.Equal(t, 1, begun)
	})
}

func TestGroup_gives_up_what_nobody_waits_for(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g group
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		ended := make(chan error, 1)
		_, _, err := g.Do(ctx, "same", func(ctx context.Context) (int, error) {
			<-ctx.Done()
			ended <- ctx.Err()
			return 0, ctx.Err()
		})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, <-ended, context.Canceled)
		begun := 0
		_, shared, err := g.Do(t.Context(), "same", after(time.Second, &begun))
		require.NoError(t, err)
		require.False(t, shared, "a caller does not join what was given up")
	})
}

// Work that does not heed its context counts until it ends, so that callers who do
// not wait cannot pile it up.
func TestGroup_bounds_work_that_was_given_up(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := group{Most: 2}
		var begun atomic.Int32
		stubborn := func(context.Context) (int, error) {
			begun.Add(1)
			time.Sleep(time.Minute)
			return 42, nil
		}
		for _, key := range []string{"a", "b"} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			_, _, err := g.Do(ctx, key, stubborn)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			cancel()
		}
		_, _, err := g.Do(t.Context(), "c", stubborn)
		require.ErrorIs(t, err, coalesce.ErrBusy)
		time.Sleep(2 * time.Minute)
		value, _, err := g.Do(t.Context(), "c", stubborn)
		require.NoError(t, err)
		require.Equal(t, 42, value)
		require.EqualValues(t, 3, begun.Load())
	})
}

func TestGroup_shares_errors_too(t *testing.T) {
	var g group
	broken := errors.New("broken")
	_, _, err := g.Do(t.Context(), "same", func(context.Context) (int, error) { return 0, broken })
	require.ErrorIs(t, err, broken)
}

func TestGroup_Close_ends_what_runs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g group
		var wg sync.WaitGroup
		begun := 0
		wg.Go(func() {
			_, _, err := g.Do(t.Context(), "same", after(time.Hour, &begun))
			require.ErrorIs(t, err, context.Canceled)
		})
		synctest.Wait()
		g.Close()
		wg.Wait()
		_, _, err := g.Do(t.Context(), "same", after(0, &begun))
		require.ErrorIs(t, err, coalesce.ErrClosed)
		require.Equal(t, 1, begun)
	})
}
