package wirepb_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/wire"
	"github.com/pointsman/pointsman/statesvc/wirepb"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
)

// core/wire walks the messages of observe and bind by hand; the generated code is
// the measure, as for sync in the server's tests.

func digest(text string) (d wire.Digest) {
	copy(d[:], text)
	return d
}

func digestOf(raw []byte) (d wire.Digest) {
	copy(d[:], raw)
	return d
}

func count(p *uint64) core.Count {
	if p == nil {
		return core.Count{}
	}
	return core.Known(*p)
}

func bindings(list []*wirepb.Binding) (out []wire.Binding) {
	for _, b := range list {
		state := wire.BindingUnavailable
		switch b.GetState() {
		case wirepb.BindingState_BINDING_NONE:
			state = wire.BindingNone
		case wirepb.BindingState_BINDING_BOUND:
			state = wire.BindingBound
		case wirepb.BindingState_BINDING_UNAVAILABLE:
		}
		out = append(out, wire.Binding{Digest: digestOf(b.GetDigest()), State: state, Worker: core.WorkerID(b.GetWorker())})
	}
	return out
}

func observed(p *wirepb.ObserveReply) *wire.ObserveReply {
	out := &wire.ObserveReply{Tokens: count(p.Tokens), Bindings: bindings(p.GetBindings()), Uncounted: p.GetUncounted()}
	if ids := p.GetInputIds(); ids != nil {
		out.InputIDs = wire.InputIDs{Verdict: verdict(ids.GetVerdict()), IDs: ids.GetIds()}
	}
	for _, l := range p.GetLookups() {
		lookup := wire.Lookup{Source: l.GetSource(), Blocks: l.GetBlocks(), Detail: l.GetDetail(), Age: count(l.AgeMs), Shared: l.GetShared()}
		switch l.GetOutcome() {
		case wirepb.LookupOutcome_LOOKUP_MISS:
			lookup.Outcome = wire.LookupMiss
		case wirepb.LookupOutcome_LOOKUP_HIT:
			lookup.Outcome = wire.LookupHit
		case wirepb.LookupOutcome_LOOKUP_INVALID:
			lookup.Outcome = wire.LookupInvalid
		case wirepb.LookupOutcome_LOOKUP_UNAVAILABLE:
		}
		for _, d := range l.GetDepths() {
			depth := wire.Depth{
				Worker: core.WorkerID(d.GetWorker()), Blocks: d.GetBlocks(), DeviceBlocks: count(d.DeviceBlocks), Uncertain: d.GetUncertain(),
				Ranks: d.GetRanks(), Age: count(d.AgeMs),
			}
			if d.Rank != nil {
				depth.Rank = core.Known(uint64(d.GetRank()))
			}
			lookup.Depths = append(lookup.Depths, depth)
		}
		out.Lookups = append(out.Lookups, lookup)
	}
	return out
}

// verdict takes what the filter does not know for unavailable.
func verdict(v wirepb.InputIDsVerdict) wire.InputIDsVerdict {
	if v < 0 || v > wirepb.InputIDsVerdict_INPUT_IDS_TOO_LONG {
		return wire.InputIDsUnavailable
	}
	return wire.InputIDsVerdict(v)
}

func sampleBindings() []*wirepb.Binding {
	d := digest("0123456789abcdef")
	return []*wirepb.Binding{
		{Digest: d[:], State: wirepb.BindingState_BINDING_BOUND, Worker: "größer"},
		{Digest: d[:], State: wirepb.BindingState_BINDING_NONE},
		{State: 9},
	}
}

func sampleObserved() *wirepb.ObserveReply {
	return &wirepb.ObserveReply{
		Tokens: proto.Uint64(0), Bindings: sampleBindings(), Uncounted: true,
		InputIds: &wirepb.InputIDs{Verdict: wirepb.InputIDsVerdict_INPUT_IDS_GIVEN, Ids: []uint32{0, 1, 1<<32 - 1}},
		Lookups: []*wirepb.Lookup{
			{Source: "local", Outcome: wirepb.LookupOutcome_LOOKUP_HIT, Blocks: 1 << 40, Shared: 1 << 33, Depths: []*wirepb.Depth{
				{Worker: "e1", Blocks: 3, DeviceBlocks: proto.Uint64(0), Uncertain: true, Rank: proto.Uint32(0), Ranks: []uint32{0, 3}, AgeMs: proto.Uint64(0)}, {Rank: proto.Uint32(1<<32 - 1)}, {},
			}},
			{Source: "remote", Outcome: wirepb.LookupOutcome_LOOKUP_INVALID, Detail: "unknown model", AgeMs: proto.Uint64(1 << 40)},
			{Outcome: wirepb.LookupOutcome_LOOKUP_MISS},
			{Outcome: 7},
			{},
		},
	}
}

func encode(t testing.TB, m proto.Message) []byte {
	t.Helper()
	b, err := proto.Marshal(m)
	require.NoError(t, err)
	return b
}

func TestDecode_every_field(t *testing.T) {
	msg := encode(t, sampleObserved())
	got, err := wire.DecodeObserveReply(msg)
	require.NoError(t, err)
	want := observed(sampleObserved())
	require.Empty(t, cmp.Diff(want, got))
	clear(msg) // hosts reuse the memory of a reply
	require.Empty(t, cmp.Diff(want, got))

	bound, err := wire.DecodeBindReply(encode(t, &wirepb.BindReply{Bindings: sampleBindings()}))
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(bindings(sampleBindings()), bound.Bindings))
}

func TestDecode_refuses_digests_of_another_length(t *testing.T) {
	msg := []*wirepb.Binding{{Digest: []byte("short")}}
	_, err := wire.DecodeBindReply(encode(t, &wirepb.BindReply{Bindings: msg}))
	require.EqualError(t, err, "bind reply: field 1: field 1: a digest must have 16 bytes")
	_, err = wire.DecodeObserveReply(encode(t, &wirepb.ObserveReply{Bindings: msg}))
	require.EqualError(t, err, "observe reply: field 3: field 1: a digest must have 16 bytes")
}

// agree reports whether both readers took a message; only a digest of another
// length is refused by one of them.
func agree(t *testing.T, generated, byHand error) bool {
	t.Helper()
	if byHand != nil && strings.Contains(byHand.Error(), "digest") {
		return false
	}
	require.Equal(t, generated == nil, byHand == nil, "generated: %v, by hand: %v", generated, byHand)
	return byHand == nil
}

func FuzzDecodeObserveReply(f *testing.F) {
	f.Add([]byte{})
	f.Add(encode(f, sampleObserved()))
	f.Add([]byte("upstream connect error or disconnect/reset before headers"))
	f.Add([]byte{0x12, 0x04, 0x22, 0x02, 0xff, 0xfe})
	f.Fuzz(func(t *testing.T, msg []byte) {
		var want wirepb.ObserveReply
		generated := proto.Unmarshal(msg, &want)
		got, err := wire.DecodeObserveReply(msg)
		if agree(t, generated, err) {
			require.Empty(t, cmp.Diff(observed(&want), got))
		}
	})
}

func FuzzDecodeBindReply(f *testing.F) {
	f.Add([]byte{})
	f.Add(encode(f, &wirepb.BindReply{Bindings: sampleBindings()}))
	f.Add([]byte{0x0a, 0x02, 0x10, 0xff})
	f.Fuzz(func(t *testing.T, msg []byte) {
		var want wirepb.BindReply
		generated := proto.Unmarshal(msg, &want)
		got, err := wire.DecodeBindReply(msg)
		if agree(t, generated, err) {
			require.Empty(t, cmp.Diff(bindings(want.GetBindings()), got.Bindings))
		}
	})
}

func scope(p *wirepb.Scope) wire.Scope {
	return wire.Scope{
		Digest: digestOf(p.GetDigest()), Kind: wire.KeyKind(p.GetKind()), Model: p.GetModel(), Bucket: p.GetBucket(), Stage: core.Stage(p.GetStage()),
	}
}

func FuzzAppendRequests(f *testing.F) {
	f.Add(uint64(1), "m", "adapter", "/v1/completions", uint32(150), true, "local", "0123456789abcdef", uint8(1), "b", uint8(3), "e1", "e2")
	f.Add(uint64(0), "", "", "", uint32(0), false, "", "", uint8(0), "", uint8(0), "", "")
	f.Fuzz(func(t *testing.T, context uint64, model, asked, path string, timeout uint32, tokens bool, source, key string, kind uint8, bucket string, stage uint8, worker, seen string) {
		s := wire.Scope{Digest: digest(key), Kind: wire.KeyKind(kind % 3), Model: model, Bucket: bucket, Stage: core.Stage(stage % 4)}
		observe := wire.ObserveRequest{
			Context: context, Model: model, Asked: asked, Path: path, TimeoutMillis: timeout, Tokens: tokens,
			Sources: []string{source, ""}, Scopes: []wire.Scope{s, {}}, InputIDs: timeout,
		}
		var p wirepb.ObserveRequest
		if err := proto.Unmarshal(wire.AppendObserveRequest(nil, &observe), &p); err != nil {
			require.ErrorContains(t, err, "UTF-8")
			return
		}
		require.Empty(t, cmp.Diff(observe, wire.ObserveRequest{
			Context: p.GetContext(), Model: p.GetModel(), Asked: p.GetAsked(), Path: p.GetPath(), TimeoutMillis: p.GetTimeoutMs(), Tokens: p.GetTokens(),
			Sources: p.GetSources(), Scopes: []wire.Scope{scope(p.GetScopes()[0]), scope(p.GetScopes()[1])}, InputIDs: p.GetInputIds(),
		}))

		bind := wire.BindRequest{Context: context, TimeoutMillis: timeout, Proposals: []wire.Proposal{{Scope: s, Worker: core.WorkerID(worker), Seen: core.WorkerID(seen)}}}
		var q wirepb.BindRequest
		if err := proto.Unmarshal(wire.AppendBindRequest(nil, &bind), &q); err != nil {
			require.ErrorContains(t, err, "UTF-8")
			return
		}
		proposal := q.GetProposals()[0]
		require.Empty(t, cmp.Diff(bind, wire.BindRequest{Context: q.GetContext(), TimeoutMillis: q.GetTimeoutMs(), Proposals: []wire.Proposal{{
			Scope: scope(proposal.GetScope()), Worker: core.WorkerID(proposal.GetWorker()), Seen: core.WorkerID(proposal.GetSeen()),
		}}}, cmpopts.EquateEmpty()))
	})
}

func TestAppendSyncRequest_used_bindings(t *testing.T) {
	used := []wire.UsedBinding{{Digest: digest("0123456789abcdef"), Worker: "e1"}, {}}
	var got wirepb.SyncRequest
	require.NoError(t, proto.Unmarshal(wire.AppendSyncRequest(nil, &wire.SyncRequest{Context: 1, Used: used}), &got))
	var back []wire.UsedBinding
	for _, u := range got.GetUsedBindings() {
		back = append(back, wire.UsedBinding{Digest: digestOf(u.GetDigest()), Worker: core.WorkerID(u.GetWorker())})
	}
	require.Equal(t, used, back)
}
