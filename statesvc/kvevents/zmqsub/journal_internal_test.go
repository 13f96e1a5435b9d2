package zmqsub

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// lines are those of a log of JSON.
func lines(t *testing.T, log *bytes.Buffer) (list []map[string]any) {
	t.Helper()
	for d := json.NewDecoder(log); d.More(); {
		var line map[string]any
		require.NoError(t, d.Decode(&line))
		list = append(list, line)
	}
	return list
}

// Whatever comes how fast: the last lines say what is so in the end, and no more of them
// come than one of each kind a second.
func TestJournal_endsWithTheLatest(t *testing.T) {
	for seed := range uint64(200) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			var log bytes.Buffer
			j := newJournal(slog.New(slog.NewJSONHandler(&log, nil)), "KV events", "tcp://127.0.0.1:1")
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan struct{})
			go func() { defer close(ended); j.run(ctx) }()
			began := time.Now()
			for range 1 + random.IntN(60) {
				j.note(func(n *standing) {
					n.reason = Reason(random.IntN(int(reasons)))
					n.trust = n.reason.Trust()
					n.trouble = trouble(random.IntN(3))
				})
				time.Sleep(time.Duration(random.IntN(400)) * time.Millisecond)
			}
			time.Sleep(2 * journalPause)
			seconds := int(time.Since(began)/journalPause) + 1
			cancel()
			<-ended
			trust, advice, counts := TrustNone.String(), "", map[string]int{}
			for _, line := range lines(t, &log) {
				counts[line["msg"].(string)]++
				if level, ok := line["trust"].(string); ok {
					trust = level
					continue
				}
				advice, _ = line["advice"].(string)
			}
			require.Equal(t, j.now.trust.String(), trust)
			require.Equal(t, j.now.trouble.advice(), advice)
			for kind, n := range counts {
				require.LessOrEqual(t, n, seconds, kind)
			}
		})
	}
}
