package indexer_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/pointsman/pointsman/statesvc/indexer"
	"github.com/pointsman/pointsman/statesvc/indexer/indexertest"
	"github.com/pointsman/pointsman/statesvc/indexer/kvindexerpb"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

func message(t testing.TB, matches ...*kvindexerpb.ExternalKvPrefixMatch) []byte {
	t.Helper()
	b, err := proto.Marshal(&kvindexerpb.MatchExternalKvPrefixResponse{Matches: matches, BestPrefixBlocks: 1, BlocksRead: 2})
	require.NoError(t, err)
	return b
}

func held(address string, blocks uint32) *kvindexerpb.ExternalKvPrefixMatch {
	return &kvindexerpb.ExternalKvPrefixMatch{WorkerAddress: address, MatchedPrefixBlocks: blocks, WorkerId: "w"}
}

// Every answer and every status, and what becomes of it (engine-selection.md 11.2).
func TestMatch_outcomes(t *testing.T) {
	many := make([]*kvindexerpb.ExternalKvPrefixMatch, 16_385)
	for i := range many {
		many[i] = held("x", 1)
	}
	for name, c := range map[string]struct {
		message []byte
		code    codes.Code
		want    indexer.Answer
	}{
		"held": {
			message: message(t, held("http://a", 2), held("http://b", 1)),
			want:    indexer.Answer{Outcome: indexer.Matched, Matches: []indexer.Match{{Address: "http://a", Blocks: 2}, {Address: "http://b", Blocks: 1}}},
		},
		"nothing":             {message: nil, want: indexer.Answer{Outcome: indexer.Empty}},
		"none of it":          {message: message(t, held("http://a", 0)), want: indexer.Answer{Outcome: indexer.Empty}},
		"more than asked":     {message: message(t, held("http://a", 9)), want: indexer.Answer{Outcome: indexer.Matched, Matches: []indexer.Match{{Address: "http://a", Blocks: 3}}, Beyond: 1}},
		"nameless":            {message: message(t, held("", 2)), want: indexer.Answer{Outcome: indexer.Empty, Nameless: 1}},
		"fields of tomorrow":  {message: protowire.AppendVarint(protowire.AppendTag(message(t, held("http://a", 1)), 90, protowire.VarintType), 7), want: indexer.Answer{Outcome: indexer.Matched, Matches: []indexer.Match{{Address: "http://a", Blocks: 1}}}},
		"garbage":             {message: []byte("<html>no message</html>"), want: indexer.Answer{Outcome: indexer.Senseless, Why: "the answer is malformed"}},
		"cut off":             {message: message(t, held("http://a", 2))[:5], want: indexer.Answer{Outcome: indexer.Senseless, Why: "the answer is malformed"}},
		"address not UTF-8":   {message: []byte{0x0a, 3, 0x0a, 1, 0xff}, want: indexer.Answer{Outcome: indexer.Senseless, Why: "the answer has an address that is not UTF-8"}},
		"endless address":     {message: message(t, held(strings.Repeat("x", 513), 1)), want: indexer.Answer{Outcome: indexer.Senseless, Why: "the answer has an address of more than 512 bytes"}},
		"blocks beyond 32":    {message: []byte{0x0a, 9, 0x0a, 1, 'x', 0x10, 0x80, 0x80, 0x80, 0x80, 0x10}, want: indexer.Answer{Outcome: indexer.Senseless, Why: "the answer has a match of 4294967296 blocks"}},
		"too many workers":    {message: message(t, many...), want: indexer.Answer{Outcome: indexer.Senseless, Why: "the answer names more than 16384 workers"}},
		"too long":            {message: make([]byte, 1<<20+1), want: indexer.Answer{Outcome: indexer.Senseless, Why: "grpc: received message larger than max (1048577 vs. 1048576)"}},
		"unavailable":         {code: codes.Unavailable, want: indexer.Answer{Outcome: indexer.Unreachable, Why: "as told"}},
		"deadline exceeded":   {code: codes.DeadlineExceeded, want: indexer.Answer{Outcome: indexer.Timeout, Why: "as told"}},
		"cancelled":           {code: codes.Canceled, want: indexer.Answer{Outcome: indexer.Timeout, Why: "as told"}},
		"resource exhausted":  {code: codes.ResourceExhausted, want: indexer.Answer{Outcome: indexer.Overloaded, Why: "as told"}},
		"out of range":        {code: codes.OutOfRange, want: indexer.Answer{Outcome: indexer.TooLarge, Why: "as told"}},
		"invalid argument":    {code: codes.InvalidArgument, want: indexer.Answer{Outcome: indexer.Rejected, Why: "InvalidArgument: as told"}},
		"unimplemented":       {code: codes.Unimplemented, want: indexer.Answer{Outcome: indexer.Rejected, Why: "Unimplemented: as told"}},
		"unauthenticated":     {code: codes.Unauthenticated, want: indexer.Answer{Outcome: indexer.Rejected, Why: "Unauthenticated: as told"}},
		"failed precondition": {code: codes.FailedPrecondition, want: indexer.Answer{Outcome: indexer.Rejected, Why: "FailedPrecondition: as told"}},
		"internal":            {code: codes.Internal, want: indexer.Answer{Outcome: indexer.Rejected, Why: "Internal: as told"}},
		"unknown":             {code: codes.Unknown, want: indexer.Answer{Outcome: indexer.Rejected, Why: "Unknown: as told"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := indexertest.Start(t, func(_ context.Context, query *kvindexerpb.MatchExternalKvPrefixRequest) ([]byte, error) {
				if len(query.GetHashes()) != 3 || query.GetHashes()[1] != -2 {
					return nil, status.Error(codes.Aborted, "another query")
				}
				if c.code != codes.OK {
					return nil, status.Error(c.code, "as told")
				}
				return c.message, nil
			})
			x := client(t, patient, 4, f.URL)
			require.Equal(t, c.want, x.Match(t.Context(), []int64{1, -2, 3}))
			counts := x.Counts()
			require.EqualValues(t, 1, counts.Lookups[c.want.Outcome])
			require.EqualValues(t, 1, counts.Endpoints[0].Calls[c.want.Outcome])
			require.EqualValues(t, c.want.Beyond, counts.Ignored[indexer.BeyondPrompt])
			require.EqualValues(t, c.want.Nameless, counts.Ignored[indexer.NoAddress])
			require.Zero(t, counts.Inflight)
		})
	}
}

// What another process says of itself is shown, in so far as it can be.
func TestMatch_hostile_words(t *testing.T) {
	f := indexertest.Start(t, func(context.Context, *kvindexerpb.MatchExternalKvPrefixRequest) ([]byte, error) {
		return nil, status.Error(codes.Unavailable, "a\x00b\n\xff"+strings.Repeat("ü", 1000))
	})
	a := client(t, patient, 1, f.URL).Match(t.Context(), []int64{1})
	require.Equal(t, indexer.Unreachable, a.Outcome)
	require.LessOrEqual(t, len(a.Why), 160)
	require.NotContains(t, a.Why, "\n")
	require.NotContains(t, a.Why, "\x00")
}

// Sockets behind which there is no indexer.
func TestMatch_no_indexer(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, closed.Close())
	a := client(t, patient, 1, "http://"+closed.Addr().String()).Match(t.Context(), []int64{1})
	require.Equal(t, indexer.Unreachable, a.Outcome, a.Why)

	// HTTP/1 that answers all with a page; over HTTP/2, a page is a refusal.
	page := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<html>"))
	}))
	page.Start()
	defer page.Close()
	a = client(t, patient, 1, page.URL).Match(t.Context(), []int64{1})
	require.Equal(t, indexer.Unreachable, a.Outcome, a.Why)

	h2c := httptest.NewUnstartedServer(page.Config.Handler)
	h2c.Config.Protocols = new(http.Protocols)
	h2c.Config.Protocols.SetUnencryptedHTTP2(true)
	h2c.Start()
	defer h2c.Close()
	a = client(t, patient, 1, h2c.URL).Match(t.Context(), []int64{1})
	require.Equal(t, indexer.Rejected, a.Outcome, a.Why)

	// A socket that accepts and never says a word.
	mute, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer mute.Close()
	a = client(t, 50*time.Millisecond, 1, "http://"+mute.Addr().String()).Match(t.Context(), []int64{1})
	require.Equal(t, indexer.Timeout, a.Outcome, a.Why)
}

// A lookup ends with the caller's time or its own, and what hangs rests: then nobody
// waits for it, but for one call in a while.
func TestMatch_hanging(t *testing.T) {
	f := indexertest.Start(t, indexertest.Hang)
	x := client(t, time.Minute, 4, f.URL)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	require.Equal(t, indexer.Timeout, x.Match(ctx, []int64{1}).Outcome)

	x = client(t, 20*time.Millisecond, 4, f.URL)
	before := f.Calls()
	for range 3 {
		require.Equal(t, indexer.Timeout, x.Match(t.Context(), []int64{1}).Outcome)
	}
	a := x.Match(t.Context(), []int64{1})
	for a.Why != "no indexer answered lately" { // on a slow machine the rest may be over already
		require.Equal(t, indexer.Timeout, a.Outcome)
		a = x.Match(t.Context(), []int64{1})
	}
	asked := f.Calls()
	require.Greater(t, asked, before)
	require.Eventually(t, func() bool {
		x.Match(t.Context(), []int64{1})
		return f.Calls() > asked
	}, patient, 10*time.Millisecond, "it is asked again")
}

// Lookups beyond the number allowed do not wait.
func TestMatch_places(t *testing.T) {
	f := indexertest.Start(t, indexertest.Hang)
	x := client(t, patient, 2, f.URL)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan indexer.Answer, 2)
	for range 2 {
		go func() { done <- x.Match(ctx, []int64{1}) }()
	}
	require.Eventually(t, func() bool { return f.Calls() == 2 }, patient, time.Millisecond)
	a := x.Match(t.Context(), []int64{1})
	require.Equal(t, indexer.Answer{Outcome: indexer.Overloaded, Why: "2 lookups are under way here"}, a)
	require.Equal(t, 2, x.Counts().Inflight)
	cancel()
	require.Equal(t, indexer.Timeout, (<-done).Outcome)
	require.Equal(t, indexer.Timeout, (<-done).Outcome)
	require.Zero(t, x.Counts().Endpoints[0].Calls[indexer.Overloaded], "it was not asked")
}

// A closed client ends the lookups under way; one that never started answers too.
func TestClose(t *testing.T) {
	f := indexertest.Start(t, indexertest.Hang)
	x := client(t, patient, 2, f.URL)
	done := make(chan indexer.Answer)
	go func() { done <- x.Match(t.Context(), []int64{1}) }()
	require.Eventually(t, func() bool { return f.Calls() == 1 }, patient, time.Millisecond)
	x.Close()
	require.Equal(t, indexer.Timeout, (<-done).Outcome)
	require.Equal(t, indexer.Timeout, x.Match(t.Context(), []int64{1}).Outcome)
}

// Endpoints that are none are named at the start, all of them.
func TestStart_bad_endpoints(t *testing.T) {
	x := indexer.New(indexer.Options{Endpoints: []string{"http://127.0.0.1:1", "grpc://x", "y"}, Timeout: time.Second, MaxInflight: 1})
	err := x.Start()
	require.ErrorContains(t, err, "grpc://x")
	require.ErrorContains(t, err, `"y"`)
}

// A query carries as many hashes as an indexer takes.
func TestMatch_longest_query(t *testing.T) {
	sizes := make(chan int, 1)
	f := indexertest.Start(t, func(_ context.Context, query *kvindexerpb.MatchExternalKvPrefixRequest) ([]byte, error) {
		sizes <- proto.Size(query)
		return message(t, held("http://a", uint32(len(query.GetHashes())))), nil
	})
	hashes := make([]int64, indexer.MaxHashes+5)
	a := client(t, patient, 1, f.URL).Match(t.Context(), hashes)
	require.Equal(t, []indexer.Match{{Address: "http://a", Blocks: indexer.MaxHashes}}, a.Matches)
	require.LessOrEqual(t, <-sizes, 8<<20)
}
