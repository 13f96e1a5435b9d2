package prompts_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pointsman/pointsman/statesvc/prompts"
	"github.com/pointsman/pointsman/statesvc/server"
)

// A model without a tokenizer is told of once in a while, whatever requests ask.
func TestLook_tellsOfModelsThatNothingCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s := &scene{tokens: exact(), trust: full()}
		p := prompts.New(prompts.Options{Tokenizer: s, Index: s, Engines: s, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		ask := func(model string, sources ...string) {
			t.Helper()
			_, err := p.Look(t.Context(), &server.PromptQuery{Model: model, Asked: model, Path: "/v1/completions", Tokens: true, Sources: sources, Body: []byte(`{}`)})
			require.NoError(t, err)
		}
		told := func() int { return strings.Count(log.String(), "no tokenizer for this model") }
		ask("m", "local")
		require.Zero(t, told(), log.String())
		for range 100 {
			ask("cached", "local")
			ask("counted")
		}
		require.Equal(t, 2, told(), log.String())
		require.Contains(t, log.String(), "level=WARN msg=\"no tokenizer for this model: name the model under tokenize.models of the state service, or set tokenize.ask_engines\" model=cached")
		require.Contains(t, log.String(), "level=INFO msg=\"no tokenizer")
		time.Sleep(time.Hour)
		ask("cached", "local")
		require.Equal(t, 3, told())
		for i := range 1000 {
			ask(fmt.Sprint("invented-", i))
		}
		require.Less(t, told(), 300, "names that clients make up do not fill the log")
		time.Sleep(time.Hour)
		ask("late")
		require.Contains(t, log.String(), "model=late")
	})
}
