package telemetry_test

import (
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/pointsman/pointsman/statesvc/telemetry"
	"github.com/pointsman/pointsman/statesvc/tokenize"
	"github.com/pointsman/pointsman/statesvc/tokenize/prompt"
	"github.com/pointsman/pointsman/statesvc/tokenize/segcache"
	"github.com/stretchr/testify/require"
)

// tokenizers are those of one model.
type tokenizers struct{}

func (tokenizers) Counts() map[string]tokenize.Counts {
	here := tokenize.AnswerKey{Origin: tokenize.FromBPE}
	asked := tokenize.AnswerKey{Origin: tokenize.FromEngine, Local: tokenize.ReasonDiffers}
	guessed := tokenize.AnswerKey{Origin: tokenize.FromEstimate, Local: tokenize.ReasonNoTokenizer, Reason: tokenize.ReasonTooLarge}
	return map[string]tokenize.Counts{"m": {
		Answers:     map[tokenize.AnswerKey]uint64{here: 1, asked: 2, guessed: 3},
		Comparisons: map[prompt.Features]uint64{prompt.Chat: 9}, Differences: map[prompt.Features]uint64{prompt.Chat: 4},
		Unanswered: 6, Verified: prompt.Text, Differing: prompt.Chat, Cache: segcache.Stats{Hits: 7, Misses: 8, Bytes: 10},
	}}
}

const tokensGolden = `pointsman_state_tokens_answers_total{local="",model="m",origin="bpe",reason=""} 1
pointsman_state_tokens_answers_total{local="differs",model="m",origin="engine",reason=""} 2
pointsman_state_tokens_answers_total{local="no_tokenizer",model="m",origin="estimate",reason="too_large"} 3
pointsman_state_tokens_cache_bytes{model="m"} 10
pointsman_state_tokens_cache_hits_total{model="m"} 7
pointsman_state_tokens_cache_misses_total{model="m"} 8
pointsman_state_tokens_compared_total{features="chat",model="m",result="different"} 4
pointsman_state_tokens_compared_total{features="chat",model="m",result="same"} 5
pointsman_state_tokens_unanswered_total{model="m"} 6
pointsman_state_tokens_verified{feature="chat",model="m"} 0
pointsman_state_tokens_verified{feature="text",model="m"} 1
`

func TestTokenizers_exposition(t *testing.T) {
	m, err := telemetry.New("v1", numbers{}, parts{}, bindings{})
	require.NoError(t, err)
	require.NoError(t, m.AddTokenizers(tokenizers{}))
	require.Error(t, m.AddTokenizers(tokenizers{}), "twice")
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	require.Equal(t, tokensGolden, strings.Join(regexp.MustCompile(`(?m)^pointsman_state_tokens_.*\n`).FindAllString(w.Body.String(), -1), ""))
}
