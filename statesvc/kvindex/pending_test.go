package kvindex_test

import (
	"testing"
	"time"

	"github.com/pointsman/pointsman/statesvc/kvindex"
	"github.com/stretchr/testify/require"
)

func Test_pendingMeetsAColdIndex(t *testing.T) {
	c := newClock()
	s := newStage(t, kvindex.Config{PendingTTL: time.Second, Now: c.Now})
	s.x.Credit(engine, text(65))
	require.Equal(t, 64, s.match(text(65))[engine].Pending)
	require.Equal(t, 32, s.match(text(40))[engine].Pending, "as far as a prompt goes")
	require.Empty(t, s.match(kvindex.Prompt{Tokens: count(0, 65), Salt: "tenant"}))
	require.EqualValues(t, 2, s.x.Stats().PendingHits)

	c.advance(900 * time.Millisecond)
	s.x.Credit(engine, text(33)) // a shorter prompt renews its part only
	c.advance(900 * time.Millisecond)
	require.Equal(t, 32, s.match(text(65))[engine].Pending)
	c.advance(time.Second)
	require.Empty(t, s.match(text(65)))
	require.Zero(t, s.x.Stats().Pending)
	require.NoError(t, s.x.Sane())
}

func Test_pendingAndConfirmedAreTakenByTheMost(t *testing.T) {
	c := newClock()
	s := newStage(t, kvindex.Config{PendingTTL: time.Second, Now: c.Now})
	s.apply(engine, blocks(0, 3))
	s.x.Credit(engine, text(20))
	s.x.Credit(benchOwner(1), text(65))
	m := s.match(text(65))
	got := m[engine]
	require.Equal(t, 48, got.Reach())
	require.Equal(t, 16, got.Pending)
	got = m[benchOwner(1)]
	require.Equal(t, 64, got.Reach())
	require.Zero(t, got.Tokens)
	require.EqualValues(t, 1, s.x.Stats().PendingHits)

	s.x.RemoveWorker(benchOwner(1).Worker)
	require.Len(t, s.match(text(65)), 1)
}

func Test_pendingIsBoundedAndCanBeOff(t *testing.T) {
	c := newClock()
	s := newStage(t, kvindex.Config{PendingTTL: time.Second, PendingMax: 6, Now: c.Now})
	s.x.Credit(engine, text(65))
	p, _ := other(1, 4)
	s.x.Credit(engine, p)
	require.Equal(t, 6, s.x.Stats().Pending)
	require.EqualValues(t, 2, s.x.Stats().PendingDropped)
	require.Empty(t, s.match(text(65)), "the oldest records are the first blocks of the oldest prompt")
	require.Equal(t, 64, s.match(p)[engine].Pending)
	require.NoError(t, s.x.Sane())

	off := newStage(t, kvindex.Config{})
	off.x.Credit(engine, text(65))
	require.Empty(t, off.match(text(65)))
}
