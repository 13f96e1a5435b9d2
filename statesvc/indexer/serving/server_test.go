package serving_test

import (
	"context"
	"log/slog"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/statesvc/fleet"
	"github.com/pointsman/pointsman/statesvc/indexer"
	"github.com/pointsman/pointsman/statesvc/indexer/kvindexerpb"
	"github.com/pointsman/pointsman/statesvc/indexer/serving"
	"github.com/pointsman/pointsman/statesvc/kvindex"
	"github.com/pointsman/pointsman/statesvc/pump"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patient = 20 * time.Second

// knowledge is an index whose matches are written down, and a fleet of engines a and b.
type knowledge struct {
	matches []pump.Match
	asked   atomic.Pointer[[]int64]
	block   chan struct{} // when not nil, a lookup waits for it
	looks   atomic.Int64
}

func (k *knowledge) MatchHashes(hashes []int64, r *pump.Result) {
	k.asked.Store(&hashes)
	k.looks.Add(1)
	if k.block != nil {
		<-k.block
	}
	r.Matches = append(r.Matches[:0], k.matches...)
}

func (k *knowledge) Status() []fleet.Status {
	return []fleet.Status{
		{Worker: core.Worker{ID: "a"}, URL: "http://10.0.0.1:30000"},
		{Worker: core.Worker{ID: "b"}, URL: "http://10.0.0.2:30000"},
	}
}

func holds(worker string, rank uint32, blocks int) pump.Match {
	return pump.Match{Match: kvindex.Match{Owner: kvindex.Owner{Worker: worker, Rank: rank}, Blocks: blocks}}
}

// started serves k, and gives its address.
func started(t *testing.T, k *knowledge, places, connections int) (*serving.Server, string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := serving.New(serving.Options{Index: k, Fleet: k, MaxInflight: places, MaxConnections: connections})
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patient)
		defer cancel()
		s.Stop(ctx)
		require.NoError(t, <-served)
	})
	return s, l.Addr().String()
}

// connect is a client of the generated messages, as SGLang's router is one.
func connect(t *testing.T, address string) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient("dns:///"+address, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithNoProxy(),
		grpc.WithDefaultCallOptions(grpc.MaxCallSendMsgSize(64<<20)))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func ask(ctx context.Context, conn *grpc.ClientConn, query *kvindexerpb.MatchExternalKvPrefixRequest) (*kvindexerpb.MatchExternalKvPrefixResponse, error) {
	var answer kvindexerpb.MatchExternalKvPrefixResponse
	return &answer, conn.Invoke(ctx, indexer.Method, query, &answer)
}

func TestMatch(t *testing.T) {
	k := &knowledge{matches: []pump.Match{holds("b", 0, 1), holds("a", 0, 2), holds("a", 1, 3), holds("gone", 0, 3), holds("b", 1, 0)}}
	s, address := started(t, k, 4, 4)
	conn := connect(t, address)
	answer, err := ask(t.Context(), conn, &kvindexerpb.MatchExternalKvPrefixRequest{Hashes: []int64{7, -8, 9, 10}})
	require.NoError(t, err)
	require.True(t, proto.Equal(&kvindexerpb.MatchExternalKvPrefixResponse{
		Matches: []*kvindexerpb.ExternalKvPrefixMatch{
			{WorkerAddress: "http://10.0.0.1:30000", MatchedPrefixBlocks: 3, WorkerId: "a"},
			{WorkerAddress: "http://10.0.0.2:30000", MatchedPrefixBlocks: 1, WorkerId: "b"},
		},
		BestPrefixBlocks: 3, BlocksRead: 4,
	}, answer), answer.String())
	require.Equal(t, []int64{7, -8, 9, 10}, *k.asked.Load())

	_, err = ask(t.Context(), conn, &kvindexerpb.MatchExternalKvPrefixRequest{Hashes: []int64{7, -8, 9, 10}, MaxBlocks: 2})
	require.NoError(t, err)
	require.Equal(t, []int64{7, -8}, *k.asked.Load())

	k.matches = nil
	answer, err = ask(t.Context(), conn, &kvindexerpb.MatchExternalKvPrefixRequest{})
	require.NoError(t, err)
	require.True(t, proto.Equal(&kvindexerpb.MatchExternalKvPrefixResponse{}, answer), "nothing is held of nothing")
	require.EqualValues(t, 3, s.Counts()[serving.Answered])
}

// The client of this project reads what the server says.
func TestMatch_by_the_client(t *testing.T) {
	k := &knowledge{matches: []pump.Match{holds("a", 0, 2)}}
	_, address := started(t, k, 4, 4)
	c := indexer.New(indexer.Options{Endpoints: []string{"http://" + address}, Timeout: patient, MaxInflight: 1, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, c.Start())
	defer c.Close()
	require.Equal(t, indexer.Answer{Outcome: indexer.Matched, Matches: []indexer.Match{{Address: "http://10.0.0.1:30000", Blocks: 2}}}, c.Match(t.Context(), []int64{1, 2}))
}

// With every place taken a query is refused before it is read; the place comes back.
func TestMatch_places(t *testing.T) {
	k := &knowledge{block: make(chan struct{})}
	s, address := started(t, k, 1, 4)
	conn := connect(t, address)
	done := make(chan error, 1)
	go func() {
		_, err := ask(t.Context(), conn, &kvindexerpb.MatchExternalKvPrefixRequest{Hashes: []int64{1}})
		done <- err
	}()
	require.Eventually(t, func() bool { return k.looks.Load() == 1 }, patient, time.Millisecond)
	_, err := ask(t.Context(), conn, &kvindexerpb.MatchExternalKvPrefixRequest{Hashes: make([]int64, 1<<19)})
	require.Equal(t, codes.ResourceExhausted, status.Code(err), err)
	require.EqualValues(t, 1, s.Counts()[serving.Overloaded])
	close(k.block)
	require.NoError(t, <-done)
	_, err = ask(t.Context(), conn, &kvindexerpb.MatchExternalKvPrefixRequest{Hashes: []int64{1}})
	require.NoError(t, err)
}

// What cannot be answered is refused with the status that says why.
func TestMatch_refused(t *testing.T) {
	k := &knowledge{}
	s, address := started(t, k, 4, 4)
	conn := connect(t, address)
	_, err := ask(t.Context(), conn, &kvindexerpb.MatchExternalKvPrefixRequest{Hashes: make([]int64, 1<<20+1)})
	require.Equal(t, codes.ResourceExhausted, status.Code(err), "more than 8 MiB")

	err = conn.Invoke(t.Context(), indexer.Method, &kvindexerpb.ExternalKvPrefixMatch{WorkerAddress: "not a list"}, &kvindexerpb.MatchExternalKvPrefixResponse{})
	require.Equal(t, codes.Internal, status.Code(err), "not a query")

	err = conn.Invoke(t.Context(), "/kv_indexer.v1.KVIndexer/ApplyExternalKvBatch", &kvindexerpb.MatchExternalKvPrefixRequest{}, &kvindexerpb.MatchExternalKvPrefixResponse{})
	require.Equal(t, codes.Unimplemented, status.Code(err), "it takes no placements")
	require.EqualValues(t, 2, s.Counts()[serving.Refused])
	require.Zero(t, k.looks.Load())
}

// A client that opens a call and does not send its query loses its place.
func TestMatch_silent_client(t *testing.T) {
	k := &knowledge{}
	s, address := started(t, k, 1, 4)
	conn := connect(t, address)
	stream, err := conn.NewStream(t.Context(), &grpc.StreamDesc{ClientStreams: true}, indexer.Method)
	require.NoError(t, err)
	err = stream.RecvMsg(&kvindexerpb.MatchExternalKvPrefixResponse{})
	require.Equal(t, codes.DeadlineExceeded, status.Code(err), err)
	require.EqualValues(t, 1, s.Counts()[serving.Refused])
	_, err = ask(t.Context(), conn, &kvindexerpb.MatchExternalKvPrefixRequest{Hashes: []int64{1}})
	require.NoError(t, err)
}

// Connections beyond the number allowed are closed.
func TestServe_connections(t *testing.T) {
	_, address := started(t, &knowledge{}, 4, 1)
	first := connect(t, address)
	_, err := ask(t.Context(), first, &kvindexerpb.MatchExternalKvPrefixRequest{})
	require.NoError(t, err)
	second := connect(t, address)
	_, err = ask(t.Context(), second, &kvindexerpb.MatchExternalKvPrefixRequest{})
	require.Equal(t, codes.Unavailable, status.Code(err), err)
	require.NoError(t, first.Close())
	require.Eventually(t, func() bool {
		_, err := ask(t.Context(), second, &kvindexerpb.MatchExternalKvPrefixRequest{})
		return err == nil
	}, patient, 10*time.Millisecond)
}

// Stop waits for a lookup as long as it may, and no longer.
func TestStop_hanging_lookup(t *testing.T) {
	k := &knowledge{block: make(chan struct{})}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := serving.New(serving.Options{Index: k, Fleet: k, MaxInflight: 1, MaxConnections: 1})
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	conn := connect(t, l.Addr().String())
	done := make(chan error, 1)
	go func() {
		_, err := ask(t.Context(), conn, &kvindexerpb.MatchExternalKvPrefixRequest{Hashes: []int64{1}})
		done <- err
	}()
	require.Eventually(t, func() bool { return k.looks.Load() == 1 }, patient, time.Millisecond)
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		s.Stop(ctx)
	}()
	cancel()
	require.Error(t, <-done, "the connection is cut")
	close(k.block)
	<-stopped
	require.NoError(t, <-served)
}
