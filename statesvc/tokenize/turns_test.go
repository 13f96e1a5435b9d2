package tokenize_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pointsman/pointsman/core/chat"
	"github.com/pointsman/pointsman/statesvc/tokenize"
)

// slowEngine answers questions about long prompts when it is told to.
type slowEngine struct {
	asked, answer chan struct{}
}

func (e *slowEngine) Tokenize(ctx context.Context, question string) ([]uint32, error) {
	if len(question) > 16<<10 {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		e.asked <- struct{}{}
		select {
		case <-e.answer:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return []uint32{1}, nil
}

// Large bodies wait for each other, through all models, and hold up no smaller ones.
// Whose time ends meanwhile is estimated.
func TestLargeBodiesTakeTurns(t *testing.T) {
	engine := &slowEngine{asked: make(chan struct{}), answer: make(chan struct{})}
	turns := tokenize.NewTurns()
	model := func() *tokenize.Model {
		m := tokenize.New(tokenize.Options{Engine: engine, Turns: turns})
		t.Cleanup(m.Close)
		return m
	}
	large, middle, small := chatBody(t, strings.Repeat("a", 1<<20)), chatBody(t, strings.Repeat("a", 64<<10)), chatBody(t, "a")
	var running sync.WaitGroup
	ask := func(body string) {
		m := model()
		running.Go(func() { _, _ = m.Tokens(t.Context(), chat.DialectChat, body) })
	}
	for range 2 {
		ask(large)
		<-engine.asked
	}
	late := func(body string) {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		got, err := model().Tokens(ctx, chat.DialectChat, body)
		require.NoError(t, err)
		require.Equal(t, tokenize.Estimated, got.Certainty)
		require.Equal(t, tokenize.ReasonDeadline, got.Reason)
		require.EqualValues(t, len(body), got.Facts.Bytes)
	}
	late(large)
	for range 16 {
		ask(middle)
		<-engine.asked
	}
	late(middle)
	got, err := model().Tokens(t.Context(), chat.DialectChat, small)
	require.NoError(t, err)
	require.Equal(t, tokenize.Exact, got.Certainty)

	ask(large)
	ask(middle)
	close(engine.answer) // turns end, and those that waited have theirs
	<-engine.asked
	<-engine.asked
	running.Wait()
}
