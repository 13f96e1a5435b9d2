package indexer

import (
	"testing"

	"github.com/pointsman/pointsman/statesvc/indexer/kvindexerpb"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
)

// FuzzReply: whatever an indexer sends, it is refused or read as the generated code
// reads it, and never kept beyond the bounds.
func FuzzReply(f *testing.F) {
	for _, m := range []*kvindexerpb.MatchExternalKvPrefixResponse{
		{},
		{BestPrefixBlocks: 3, BlocksRead: 4},
		{Matches: []*kvindexerpb.ExternalKvPrefixMatch{{WorkerAddress: "http://a", MatchedPrefixBlocks: 3, WorkerId: "w"}, {MatchedPrefixBlocks: 1}, {WorkerAddress: "b"}}},
	} {
		b, err := proto.Marshal(m)
		require.NoError(f, err)
		f.Add(b)
	}
	f.Add([]byte{0x0a, 0xff})
	f.Add([]byte{0x0b, 0x0c})
	f.Fuzz(func(t *testing.T, b []byte) {
		const asked = 5
		r := reply{asked: asked}
		r.read(b)
		require.LessOrEqual(t, len(r.answer.Matches), maxMatches)
		if r.err != nil {
			return
		}
		var want kvindexerpb.MatchExternalKvPrefixResponse
		if proto.Unmarshal(b, &want) != nil {
			return // such as an ID that is not UTF-8, which is not looked at
		}
		var list []Match
		for _, m := range want.GetMatches() {
			if n := min(int(m.GetMatchedPrefixBlocks()), asked); n > 0 && m.GetWorkerAddress() != "" {
				list = append(list, Match{Address: m.GetWorkerAddress(), Blocks: n})
			}
		}
		require.Equal(t, list, r.answer.Matches)
		require.Equal(t, len(list) == 0, r.answer.Outcome == Empty)
	})
}
