package prompts

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/pointsman/pointsman/statesvc/server"
)

// A model without a tokenizer is told of once, and again after so long. Names come from
// requests, so only so many are remembered: further ones are not told of until the
// remembered ones are old.
const (
	tellAgain = time.Hour
	maxTold   = 256
)

// noTokenizer is what is said to a filter, and in the log.
const noTokenizer = "no tokenizer for this model: name the model under tokenize.models of the state service, or set tokenize.ask_engines"

// uncounted tells of models whose prompts nothing counts: requests are served all the
// same, so that nobody would notice that they are never sent where their prefix is.
// It is safe for concurrent use.
type uncounted struct {
	log *slog.Logger

	mu   sync.Mutex
	told map[string]time.Time
}

func (u *uncounted) tell(q *server.PromptQuery) {
	if !u.due(q.Model) {
		return
	}
	level, consequence := slog.LevelInfo, "prompts are measured in bytes"
	if len(q.Sources) > 0 {
		level, consequence = slog.LevelWarn, "no request is sent to where its prefix is cached"
	}
	u.log.Log(context.Background(), level, noTokenizer, "model", q.Model, "so", consequence)
}

func (u *uncounted) due(model string) bool {
	now := time.Now()
	u.mu.Lock()
	defer u.mu.Unlock()
	last, ok := u.told[model]
	if ok && now.Sub(last) < tellAgain {
		return false
	}
	if !ok && len(u.told) >= maxTold {
		for name, at := range u.told {
			if now.Sub(at) >= tellAgain {
				delete(u.told, name)
			}
		}
		if len(u.told) >= maxTold {
			return false
		}
	}
	if u.told == nil {
		u.told = map[string]time.Time{}
	}
	u.told[model] = now
	return true
}
