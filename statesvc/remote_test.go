package statesvc_test

import (
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pointsman/pointsman/statesvc"
	"github.com/pointsman/pointsman/statesvc/enginetest"
	"github.com/pointsman/pointsman/statesvc/indexer"
	"github.com/pointsman/pointsman/statesvc/kvevents/engine"
	"github.com/pointsman/pointsman/statesvc/kvevents/recorded"
	"github.com/pointsman/pointsman/statesvc/kvevents/zmqtest"
	"github.com/pointsman/pointsman/statesvc/kvindex/sglhash"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const recordedRun = "../e2e/testdata/engines/vllm-0.32.0/main-bs16"

// all reads a recording whole.
func all[T any](t *testing.T, name string, read func(*os.File) iter.Seq2[T, error]) (list []T) {
	t.Helper()
	f, err := os.Open(filepath.Join(recordedRun, name))
	require.NoError(t, err)
	defer func() { _ = f.Close() }()
	for v, err := range read(f) {
		require.NoError(t, err)
		list = append(list, v)
	}
	return list
}

// A service that follows what a real vLLM engine published, whose block hashes are its
// own, tells whoever asks by SGLang's hashes what that engine then found in its cache.
func TestService_answersOthersAboutRecordedEvents(t *testing.T) {
	messages := all(t, "frames.jsonl", func(f *os.File) iter.Seq2[recorded.Message, error] { return recorded.Messages(f) })
	cases := all(t, "overlap_cases.jsonl", func(f *os.File) iter.Seq2[recorded.Case, error] { return recorded.Cases(f) })
	first, err := engine.Live(messages[0].Raw())
	require.NoError(t, err)
	events, e := zmqtest.Start(t, string(first.Topic)), enginetest.Start(t)
	s := start(t, fastHeader+"indexer: {listen: '127.0.0.1:0'}\n"+
		fmt.Sprintf("fleet: {static: [{id: e1, address: %q, kv: {events: %q, replay: %q}}]}\n", e.Address(), events.Endpoint(), events.Replay()))
	require.Eventually(t, func() bool { return events.Subscribers() == 1 }, 20*time.Second, time.Millisecond)
	client := indexer.New(indexer.Options{Endpoints: []string{"http://" + s.IndexerAddr()}, Timeout: 20 * time.Second, MaxInflight: 1, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, client.Start())
	defer client.Close()

	sent, compared := 0, 0
	for _, c := range cases {
		for ; sent < c.Before; sent++ {
			m, err := engine.Live(messages[sent].Raw())
			require.NoError(t, err)
			events.Publish(m.Payload)
		}
		if c.ResetPending || c.LoRA != "" || c.Name == "report_mode_after_evict" {
			continue
		}
		hashes, err := sglhash.Hashes(nil, c.Prompt[:len(c.Prompt)-1], sglhash.Options{BlockSize: c.BlockSize, Salt: c.Salt, FullOnly: true})
		require.NoError(t, err)
		want := indexer.Answer{Outcome: indexer.Empty}
		if c.Cached > 0 {
			want = indexer.Answer{Outcome: indexer.Matched, Matches: []indexer.Match{{Address: "http://" + e.Address(), Blocks: c.Cached / c.BlockSize}}}
		}
		require.EventuallyWithT(t, func(now *assert.CollectT) {
			require.Equal(now, want, client.Match(t.Context(), hashes), "%s", c.Name)
		}, 20*time.Second, 5*time.Millisecond)
		compared++
	}
	require.Greater(t, compared, 10)
}

// What asks others, and what answers them, starts and ends with the service.
func TestService_indexersStartAndStop(t *testing.T) {
	e := enginetest.Start(t)
	answering := start(t, fastHeader+"indexer: {listen: '127.0.0.1:0'}\n"+fleetOf(e))
	asking := start(t, fastHeader+fmt.Sprintf("kv: {remote: {endpoints: ['http://%s', 'unix:///nowhere']}}\n", answering.IndexerAddr())+fleetOf(e))
	require.Empty(t, asking.IndexerAddr())
	resp, err := http.Get("http://" + asking.Addr() + "/metrics")
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())

	// A port that is taken is told, and nothing stays open.
	taken, err := statesvc.New(parse(t, fastHeader+fmt.Sprintf("indexer: {listen: %q}\n", answering.IndexerAddr())+fleetOf(e)), statesvc.Options{})
	require.NoError(t, err)
	require.ErrorContains(t, taken.Start(t.Context()), "indexer.listen: ")
	require.Empty(t, taken.Addr())
}
