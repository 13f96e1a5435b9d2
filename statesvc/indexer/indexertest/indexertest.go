// Package indexertest is a KV indexer for tests, which says what it is told to say, be it
// no message at all.
package indexertest

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"
	"testing"

	"github.com/pointsman/pointsman/statesvc/indexer/kvindexerpb"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
)

// Answer gives the bytes of the answer to a query, or the error that the caller gets. It
// is called by many goroutines at a time.
type Answer func(ctx context.Context, query *kvindexerpb.MatchExternalKvPrefixRequest) ([]byte, error)

// Indexer is one that runs until its test ends.
type Indexer struct {
	URL   string
	calls atomic.Int64
	stop  func()
}

// Start starts one on a free port of loopback.
func Start(t testing.TB, answer Answer) *Indexer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	x := &Indexer{URL: "http://" + l.Addr().String()}
	server := grpc.NewServer(grpc.MaxRecvMsgSize(16<<20), grpc.ForceServerCodecV2(codec{}))
	server.RegisterService(&grpc.ServiceDesc{
		ServiceName: "kv_indexer.v1.KVIndexer",
		Streams: []grpc.StreamDesc{{StreamName: "MatchExternalKvPrefix", Handler: func(_ any, stream grpc.ServerStream) error {
			return x.handle(stream, answer)
		}}},
	}, nil)
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(l) // it ends with the test
	}()
	x.stop = func() {
		server.Stop()
		<-served
	}
	t.Cleanup(x.stop)
	return x
}

// Calls counts the queries that came.
func (x *Indexer) Calls() int { return int(x.calls.Load()) }

func (x *Indexer) handle(stream grpc.ServerStream, answer Answer) error {
	x.calls.Add(1)
	var query kvindexerpb.MatchExternalKvPrefixRequest
	if err := stream.RecvMsg(&query); err != nil {
		return err
	}
	message, err := answer(stream.Context(), &query)
	if err != nil {
		return err
	}
	return stream.SendMsg(message)
}

// Hang is an Answer that comes when the caller has gone.
func Hang(ctx context.Context, _ *kvindexerpb.MatchExternalKvPrefixRequest) ([]byte, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// codec sends bytes as they are, so that an answer need not be a message.
type codec struct{}

// Name is that of the codec of protobuf.
func (codec) Name() string { return "proto" }

// Marshal sends bytes.
func (codec) Marshal(v any) (mem.BufferSlice, error) {
	b, ok := v.([]byte)
	if !ok {
		return nil, fmt.Errorf("%T is not bytes", v)
	}
	return mem.BufferSlice{mem.SliceBuffer(b)}, nil
}

// Unmarshal reads a query.
func (codec) Unmarshal(data mem.BufferSlice, v any) error {
	m, ok := v.(proto.Message)
	if !ok {
		return fmt.Errorf("%T is not a message", v)
	}
	return proto.Unmarshal(data.Materialize(), m)
}
