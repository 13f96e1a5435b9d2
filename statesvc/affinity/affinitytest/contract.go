// Package affinitytest holds the suite that every affinity.Store passes.
package affinitytest

import (
	"context"
	"encoding/binary"
	"fmt"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/statesvc/affinity"
)

// Idle is the life of the suite's bindings without use, in milliseconds.
const Idle core.Instant = 600_000

// Scope makes a digest that differs for every number.
func Scope(n uint64) (d affinity.Digest) {
	binary.LittleEndian.PutUint64(d[:], n)
	return d
}

// TestContract checks a store. The factory makes an empty one for each test, with
// room for at least 10,000 bindings.
func TestContract(t *testing.T, factory func(t *testing.T) affinity.Store) {
	t.Helper()
	for name, test := range map[string]func(t *testing.T, s store){
		"a new scope is bound to what is proposed":         testNew,
		"a bound scope answers the winner":                 testLost,
		"what was seen may be replaced":                    testReplaced,
		"a look does not refresh, a use does":              testIdle,
		"the idle limit still counts":                      testLimit,
		"an expired binding is none":                       testExpired,
		"forgetting removes one engine's bindings":         testForget,
		"several scopes at once keep their order":          testOrder,
		"callers at once converge":                         testConverge,
		"no scopes is no error":                            testNothing,
		"bindings have lives of their own":                 testLives,
		"touching an unbound scope binds nothing":          testTouchNone,
		"a proposal upon an engine that left binds anyway": testSeenGone,
	} {
		t.Run(name, func(t *testing.T) { test(t, store{t, factory(t)}) })
	}
}

// store asks a Store and fails the test on errors.
type store struct {
	t *testing.T
	affinity.Store
}

func (s store) bound(now core.Instant, scope uint64) core.WorkerID {
	s.t.Helper()
	bound, err := s.Bound(context.Background(), now, []affinity.Digest{Scope(scope)})
	require.NoError(s.t, err)
	require.Len(s.t, bound, 1)
	return bound[0]
}

func (s store) bind(now core.Instant, scope uint64, worker, seen core.WorkerID) core.WorkerID {
	s.t.Helper()
	bound, err := s.Bind(context.Background(), now, []affinity.Proposal{{Scope: Scope(scope), Worker: worker, Seen: seen, Idle: Idle}})
	require.NoError(s.t, err)
	require.Len(s.t, bound, 1)
	return bound[0]
}

func (s store) touch(now core.Instant, scope uint64, worker core.WorkerID) {
	s.t.Helper()
	require.NoError(s.t, s.Touch(context.Background(), now, []affinity.Use{{Scope: Scope(scope), Worker: worker}}))
}

func testNew(t *testing.T, s store) {
	require.Empty(t, s.bound(0, 1))
	require.Equal(t, core.WorkerID("a"), s.bind(0, 1, "a", ""))
	require.Equal(t, core.WorkerID("a"), s.bound(0, 1))
	require.Empty(t, s.bound(0, 2))
}

func testLost(t *testing.T, s store) {
	s.bind(0, 1, "a", "")
	require.Equal(t, core.WorkerID("a"), s.bind(1, 1, "b", ""))
	require.Equal(t, core.WorkerID("a"), s.bind(2, 1, "b", "c"), "what was seen is not what is bound")
	require.Equal(t, core.WorkerID("a"), s.bound(3, 1))
}

func testReplaced(t *testing.T, s store) {
	s.bind(0, 1, "a", "")
	require.Equal(t, core.WorkerID("b"), s.bind(1, 1, "b", "a"))
	require.Equal(t, core.WorkerID("b"), s.bind(2, 1, "c", "a"), "a was replaced before")
}

func testIdle(t *testing.T, s store) {
	s.bind(0, 1, "a", "")
	s.bind(0, 2, "a", "")
	s.bind(0, 3, "a", "")
	s.touch(Idle/2, 1, "a")
	s.touch(Idle/2, 2, "b")
	s.bind(Idle/2, 3, "b", "")
	require.Equal(t, core.WorkerID("a"), s.bound(Idle/2, 2))
	require.Equal(t, core.WorkerID("a"), s.bound(Idle+1, 1))
	require.Empty(t, s.bound(Idle+1, 2), "the use of another engine is no use of this binding")
	require.Equal(t, core.WorkerID("a"), s.bound(Idle+1, 3), "a lost bind uses the winner's binding")
}

func testLimit(t *testing.T, s store) {
	s.bind(0, 1, "a", "")
	require.Equal(t, core.WorkerID("a"), s.bound(Idle, 1))
	require.Empty(t, s.bound(Idle+1, 1))
}

func testExpired(t *testing.T, s store) {
	s.bind(0, 1, "a", "")
	s.touch(Idle+1, 1, "a")
	require.Empty(t, s.bound(Idle+1, 1), "a use does not bring it back")
	require.Equal(t, core.WorkerID("b"), s.bind(Idle+2, 1, "b", ""))
}

func testForget(t *testing.T, s store) {
	for n := range uint64(10) {
		s.bind(0, n, core.WorkerID([]string{"a", "b"}[n%2]), "")
	}
	forgotten, err := s.Forget(context.Background(), "a")
	require.NoError(t, err)
	require.Equal(t, 5, forgotten)
	require.Empty(t, s.bound(1, 0))
	require.Equal(t, core.WorkerID("b"), s.bound(1, 1))
	forgotten, err = s.Forget(context.Background(), "a")
	require.NoError(t, err)
	require.Zero(t, forgotten)
	require.Equal(t, core.WorkerID("a"), s.bind(2, 0, "a", ""), "an engine may come back")
}

func testOrder(t *testing.T, s store) {
	var proposals []affinity.Proposal
	var scopes []affinity.Digest
	for n := range uint64(300) {
		proposals = append(proposals, affinity.Proposal{Scope: Scope(n), Worker: core.WorkerID(strconv.FormatUint(n%7, 10)), Idle: Idle})
		scopes = append(scopes, Scope(n))
	}
	bound, err := s.Bind(context.Background(), 0, proposals)
	require.NoError(t, err)
	found, err := s.Bound(context.Background(), 0, append(scopes, Scope(1000)))
	require.NoError(t, err)
	require.Equal(t, append(bound, ""), found)
	for n, worker := range bound {
		require.Equal(t, proposals[n].Worker, worker)
	}
}

// testConverge is the race of first requests: whoever comes, one engine wins each
// scope, and everybody is told the same (field report F06).
func testConverge(t *testing.T, s store) {
	const callers, scopes = 8, 50
	var answers [callers][scopes]core.WorkerID
	var wait sync.WaitGroup
	for c := range callers {
		wait.Go(func() {
			for n := range uint64(scopes) {
				bound, err := s.Bind(context.Background(), 0, []affinity.Proposal{
					{Scope: Scope(n), Worker: core.WorkerID(fmt.Sprintf("w%d", c)), Idle: Idle},
				})
				if err == nil {
					answers[c][n] = bound[0]
				}
			}
		})
	}
	wait.Wait()
	for n := range scopes {
		require.NotEmpty(t, answers[0][n])
		for c := range callers {
			require.Equal(t, answers[0][n], answers[c][n])
		}
	}
}

func testNothing(t *testing.T, s store) {
	bound, err := s.Bound(context.Background(), 0, nil)
	require.NoError(t, err)
	require.Empty(t, bound)
	bound, err = s.Bind(context.Background(), 0, nil)
	require.NoError(t, err)
	require.Empty(t, bound)
	require.NoError(t, s.Touch(context.Background(), 0, nil))
}

func testLives(t *testing.T, s store) {
	_, err := s.Bind(context.Background(), 0, []affinity.Proposal{
		{Scope: Scope(1), Worker: "a", Idle: 1000}, {Scope: Scope(2), Worker: "a", Idle: 5000},
	})
	require.NoError(t, err)
	require.Empty(t, s.bound(1001, 1))
	require.Equal(t, core.WorkerID("a"), s.bound(1001, 2))
}

func testTouchNone(t *testing.T, s store) {
	s.touch(0, 1, "a")
	require.Empty(t, s.bound(0, 1))
}

func testSeenGone(t *testing.T, s store) {
	require.Equal(t, core.WorkerID("b"), s.bind(0, 1, "b", "a"))
}
