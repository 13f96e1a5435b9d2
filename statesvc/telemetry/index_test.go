package telemetry_test

import (
	"encoding/json"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/pointsman/pointsman/statesvc/kvevents"
	"github.com/pointsman/pointsman/statesvc/kvevents/zmqsub"
	"github.com/pointsman/pointsman/statesvc/kvindex"
	"github.com/pointsman/pointsman/statesvc/pump"
	"github.com/pointsman/pointsman/statesvc/telemetry"
	"github.com/stretchr/testify/require"
)

// streams are those of an engine with a trusted rank and one that is not.
type streams struct{}

func (streams) Engines() []pump.Engine {
	return []pump.Engine{{
		Worker: "a", Load: pump.LoadCounts{Frames: 50, BadFrames: 51, Polls: 52, PollErrors: 53},
		Streams: []pump.Stream{
			{
				Rank: 0, Trust: zmqsub.TrustFull, Reason: "none",
				Status: zmqsub.Status{Connected: true, Last: 60, Queued: 61, Counts: zmqsub.Counts{
					Batches: 62, Duplicates: 63, Gaps: 64, Missing: 65, Repaired: 66, Overflows: 67, Restarts: 68, Fenced: 69, Connects: 70,
					DialErrors: 71, ReplaysGood: 72, ReplaysBad: 73, BadFrames: 74, BadSequence: 75, BadTopic: 76, Oversized: 77,
				}},
				Events: pump.EventCounts{
					Events: 80, Cleared: 81, NotMsgpack: 82, NotBatch: 83, Malformed: 84, UnknownKind: 85, TooLarge: 86, NoTokens: 87, OtherRank: 88,
				},
			},
			{Rank: 1, Trust: zmqsub.TrustNone, Reason: "connecting", Status: zmqsub.Status{Last: -1}},
		},
	}}
}

// everyDistrust is an engine with one rank per reason.
type everyDistrust struct{ streams }

func (everyDistrust) Engines() []pump.Engine {
	list := streams{}.Engines()
	e := &list[0]
	for i, reason := range pump.Distrusts() {
		e.Streams = append(e.Streams, pump.Stream{Rank: uint32(2 + i), Reason: reason, Status: zmqsub.Status{Last: -1}})
	}
	return list
}

func (streams) Index() *kvindex.Index {
	x := kvindex.New(kvindex.Config{})
	x.Apply(kvindex.Owner{Worker: "a"}, &kvevents.Event{
		Kind: kvevents.KindStored, Tier: kvevents.TierHost, Hashes: []kvevents.Hash{1, 2}, Tokens: []uint32{1, 2, 3, 4}, BlockSize: 2,
	})
	return x
}

const indexGolden = `pointsman_state_kv_batches_total{rank="0",worker="a"} 62
pointsman_state_kv_blocks{rank="0",tier="host",worker="a"} 2
pointsman_state_kv_connects_total{rank="0",result="bad",worker="a"} 71
pointsman_state_kv_events_dropped_total{rank="0",reason="malformed",worker="a"} 84
pointsman_state_kv_events_dropped_total{rank="0",reason="not_a_batch",worker="a"} 83
pointsman_state_kv_events_dropped_total{rank="0",reason="no_tokens",worker="a"} 87
pointsman_state_kv_gaps_total{rank="0",worker="a"} 64
pointsman_state_kv_index_blocks 2
pointsman_state_kv_index_evictions_caused_total{worker="a"} 0
pointsman_state_kv_messages_dropped_total{rank="0",reason="overflow",worker="a"} 67
pointsman_state_kv_missing_batches_total{rank="0",result="lost",worker="a"} 65
pointsman_state_kv_missing_batches_total{rank="0",result="repaired",worker="a"} 66
pointsman_state_kv_restarts_total{rank="0",worker="a"} 68
pointsman_state_kv_stream_connected{rank="0",worker="a"} 1
pointsman_state_kv_stream_connected{rank="1",worker="a"} 0
pointsman_state_kv_stream_distrust{rank="1",reason="connecting",worker="a"} 1
pointsman_state_kv_stream_sequence{rank="0",worker="a"} 60
pointsman_state_kv_stream_trust{rank="0",worker="a"} 2
pointsman_state_kv_stream_trust{rank="1",worker="a"} 0
pointsman_state_native_load_reports_total{result="bad",source="polls",worker="a"} 53
`

// What was dropped has one name, in GET /v1/index and in the metrics.
func TestTelemetry_dropsAreNamedAsInTheIndex(t *testing.T) {
	named := map[string]bool{}
	for _, counts := range []any{pump.EventCounts{}, zmqsub.Counts{}} {
		text, err := json.Marshal(counts)
		require.NoError(t, err)
		var fields map[string]int
		require.NoError(t, json.Unmarshal(text, &fields))
		for name := range fields {
			named[name] = true
		}
	}
	w := httptest.NewRecorder()
	measured(t).Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	labels := regexp.MustCompile(`pointsman_state_kv_(?:events|messages)_dropped_total\{.*reason="(\w+)"`).FindAllStringSubmatch(w.Body.String(), -1)
	require.NotEmpty(t, labels)
	for _, label := range labels {
		require.Contains(t, named, label[1])
	}
}

// What is not known has no series: no sequence of rank 1, no distrust of rank 0.
func TestTelemetry_index(t *testing.T) {
	m, err := telemetry.New("v1", numbers{}, parts{}, bindings{})
	require.NoError(t, err)
	require.NoError(t, m.AddIndex(streams{}))
	require.Error(t, m.AddIndex(streams{}), "twice")
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	for _, line := range strings.SplitAfter(indexGolden, "\n") {
		require.Contains(t, w.Body.String(), line)
	}
	only := regexp.MustCompile(`(?m)^pointsman_state_kv_stream_(sequence|distrust|trust).*\n`).FindAllString(w.Body.String(), -1)
	require.Len(t, only, 4)
}
