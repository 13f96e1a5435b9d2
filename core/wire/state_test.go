package wire

import (
	"testing"

	"github.com/pointsman/pointsman/core"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
)

func writeBinding(d Digest, state uint64, worker string) []byte {
	return body(number(body(nil, 1, d[:]), 2, state), 3, []byte(worker))
}

func writeObserved() []byte {
	depth := number(number(number(number(body(nil, 1, []byte("e1")), 2, 7), 3, 0), 4, 1), 5, 0)
	lookup := body(number(number(body(nil, 1, []byte("local")), 2, 2), 3, 9), 5, depth)
	msg := body(number(nil, 1, 0), 2, lookup)
	msg = body(msg, 2, body(number(body(nil, 1, []byte("remote")), 2, 3), 4, []byte("why")))
	return body(msg, 3, writeBinding(Digest{1}, 2, "e1"))
}

func TestDecodeObserveReply(t *testing.T) {
	got, err := DecodeObserveReply(writeObserved())
	require.NoError(t, err)
	require.Equal(t, &ObserveReply{
		Tokens: core.Known(0),
		Lookups: []Lookup{
			{Source: "local", Outcome: LookupHit, Blocks: 9, Depths: []Depth{{Worker: "e1", Blocks: 7, DeviceBlocks: core.Known(0), Uncertain: true, Rank: core.Known(0)}}},
			{Source: "remote", Outcome: LookupInvalid, Detail: "why"},
		},
		Bindings: []Binding{{Digest: Digest{1}, State: BindingBound, Worker: "e1"}},
	}, got)
	got, err = DecodeObserveReply(nil)
	require.NoError(t, err)
	require.Equal(t, &ObserveReply{}, got, "nothing is known of what is not in the reply")
}

// What a reader does not know is unavailable, never none and never a miss.
func TestDecode_unknown_states(t *testing.T) {
	for v, want := range map[uint64]BindingState{0: BindingUnavailable, 1: BindingNone, 2: BindingBound, 3: BindingUnavailable, 1<<32 | 1: BindingNone, 1<<64 - 1: BindingUnavailable} {
		got, err := DecodeBindReply(body(nil, 1, writeBinding(Digest{}, v, "")))
		require.NoError(t, err)
		require.Equal(t, want, got.Bindings[0].State, v)
	}
	for v, want := range map[uint64]LookupOutcome{1: LookupMiss, 3: LookupInvalid, 4: LookupUnavailable, 1<<64 - 1: LookupUnavailable} {
		got, err := DecodeObserveReply(body(nil, 2, number(nil, 2, v)))
		require.NoError(t, err)
		require.Equal(t, want, got.Lookups[0].Outcome, v)
	}
}

func TestDecodeState_skips_what_it_does_not_know(t *testing.T) {
	unknown := body(number(nil, 30, 1), 31, []byte{0xff})
	for _, n := range []protowire.Number{1, 2, 3, 4, 5} {
		unknown = protowire.AppendFixed32(protowire.AppendTag(unknown, n, protowire.Fixed32Type), 9)
	}
	binding := append(writeBinding(Digest{2}, 1, ""), unknown...)
	depth := append(number(body(nil, 1, []byte("e")), 2, 4), unknown...)
	lookup := append(body(number(nil, 3, 5), 5, depth), unknown...)
	msg := append(body(body(nil, 2, lookup), 3, binding), unknown...)
	got, err := DecodeObserveReply(msg)
	require.NoError(t, err)
	require.Equal(t, &ObserveReply{
		Lookups:  []Lookup{{Blocks: 5, Depths: []Depth{{Worker: "e", Blocks: 4}}}},
		Bindings: []Binding{{Digest: Digest{2}, State: BindingNone}},
	}, got)
	bound, err := DecodeBindReply(append(body(nil, 1, binding), unknown...))
	require.NoError(t, err)
	require.Equal(t, got.Bindings, bound.Bindings)
}

func TestDecodeState_malformed(t *testing.T) {
	bad := []byte{'a', 0xff}
	for name, msg := range map[string][]byte{
		"truncated":        writeObserved()[:20],
		"source":           body(nil, 2, body(nil, 1, bad)),
		"detail":           body(nil, 2, body(nil, 4, bad)),
		"worker of depth":  body(nil, 2, body(nil, 5, body(nil, 1, bad))),
		"worker":           body(nil, 3, body(nil, 3, bad)),
		"digest":           body(nil, 3, body(nil, 1, []byte("short"))),
		"text of a proxy":  []byte("upstream connect error or disconnect/reset before headers"),
		"json, not binary": []byte(`{"bindings":[]}`),
	} {
		t.Run(name, func(t *testing.T) {
			got, err := DecodeObserveReply(msg)
			require.ErrorContains(t, err, "observe reply: ")
			require.Nil(t, got)
		})
	}
	got, err := DecodeBindReply(body(nil, 1, body(nil, 3, bad)))
	require.ErrorContains(t, err, "bind reply: ")
	require.Nil(t, got)
}

func TestAppendState_does_not_allocate(t *testing.T) {
	scope := Scope{Digest: Digest{1}, Kind: KeySession, Model: "m", Bucket: "b", Stage: core.StagePlain}
	observe := &ObserveRequest{Context: 1, Model: "m", Asked: "m", Path: "/v1/completions", TimeoutMillis: 150, Sources: []string{"local"}, Scopes: []Scope{scope, scope}}
	bind := &BindRequest{Context: 1, TimeoutMillis: 150, Proposals: []Proposal{{Scope: scope, Worker: "e1", Seen: "e2"}}}
	buffer := make([]byte, 0, 1<<10)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		buffer = AppendBindRequest(AppendObserveRequest(buffer[:0], observe), bind)
	}))
}
