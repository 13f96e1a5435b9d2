// Package serving answers others who ask, with the API kv_indexer.v1, what engines hold
// of a prompt: SGLang's router or another state service (engine-selection.md 11).
//
// A lookup has a place before its query is read, so that what clients send costs memory
// for as many queries as there are places, however many connections they open.
package serving

import (
	"cmp"
	"context"
	"crypto/tls"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pointsman/pointsman/statesvc/fleet"
	"github.com/pointsman/pointsman/statesvc/indexer/kvindexerpb"
	"github.com/pointsman/pointsman/statesvc/netlimit"
	"github.com/pointsman/pointsman/statesvc/pump"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"
)

// Bounds of one connection (engine-selection.md 11.2) and of what it may leave unread.
const (
	maxQueryBytes   = 8 << 20
	maxStreams      = 64
	maxHeaderBytes  = 16 << 10
	streamWindow    = 256 << 10
	connWindow      = 1 << 20
	handshakeWithin = 5 * time.Second
)

// maxReceive is how long a client may take to send its query.
const maxReceive = 2 * time.Second

// Index finds what engines hold of a prompt. *pump.Pump is one.
type Index interface {
	// MatchHashes finds it by SGLang's hashes of the blocks. r is reused.
	MatchHashes(hashes []int64, r *pump.Result)
}

// Fleet is the engines.
type Fleet interface{ Status() []fleet.Status }

// Options are a Server's facts. All but TLS are required.
type Options struct {
	Index          Index
	Fleet          Fleet
	MaxInflight    int
	MaxConnections int
	TLS            *tls.Config // nil for plain HTTP/2
}

// Server answers queries. Serve and Stop are called once each, in either order.
type Server struct {
	opts      Options
	grpc      *grpc.Server
	slots     chan struct{}
	addresses addresses
	results   sync.Pool // of *pump.Result
	calls     [outcomes]atomic.Uint64
}

// New prepares a server.
func New(o Options) *Server {
	s := &Server{opts: o, slots: make(chan struct{}, o.MaxInflight), addresses: addresses{fleet: o.Fleet}}
	s.results.New = func() any { return new(pump.Result) }
	options := []grpc.ServerOption{
		grpc.MaxRecvMsgSize(maxQueryBytes), grpc.MaxConcurrentStreams(maxStreams), grpc.MaxHeaderListSize(maxHeaderBytes),
		grpc.ConnectionTimeout(handshakeWithin), grpc.InitialWindowSize(streamWindow), grpc.InitialConnWindowSize(connWindow),
	}
	if o.TLS != nil {
		options = append(options, grpc.Creds(credentials.NewTLS(o.TLS)))
	}
	s.grpc = grpc.NewServer(options...)
	// On the wire a unary call and a stream of one message each way are the same. As a
	// stream its handler runs before the query is read.
	s.grpc.RegisterService(&grpc.ServiceDesc{
		ServiceName: "kv_indexer.v1.KVIndexer",
		Streams:     []grpc.StreamDesc{{StreamName: "MatchExternalKvPrefix", Handler: s.handle}},
	}, nil)
	return s
}

// Serve answers on a listener until Stop.
func (s *Server) Serve(l net.Listener) error {
	return s.grpc.Serve(netlimit.Listener(l, s.opts.MaxConnections))
}

// Stop takes no more calls and waits for those under way; the end of ctx cuts that short.
func (s *Server) Stop(ctx context.Context) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.grpc.GracefulStop()
	}()
	select {
	case <-done:
	case <-ctx.Done():
		s.grpc.Stop()
		<-done
	}
}

func (s *Server) handle(_ any, stream grpc.ServerStream) error {
	outcome, err := s.answer(stream)
	s.calls[outcome].Add(1)
	return err
}

func (s *Server) answer(stream grpc.ServerStream) (Outcome, error) {
	if stream.Context().Err() != nil {
		return Expired, status.Error(codes.DeadlineExceeded, "the query's time was over when it came")
	}
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	default:
		return Overloaded, status.Errorf(codes.ResourceExhausted, "%d queries are under way", cap(s.slots))
	}
	query, err := receive(stream)
	if err != nil {
		return Refused, err
	}
	if err := stream.SendMsg(s.match(query)); err != nil {
		return Expired, err
	}
	return Answered, nil
}

// receive reads the query. A client that does not send it loses its place.
func receive(stream grpc.ServerStream) (*kvindexerpb.MatchExternalKvPrefixRequest, error) {
	var query kvindexerpb.MatchExternalKvPrefixRequest
	read := make(chan error, 1)
	go func() { read <- stream.RecvMsg(&query) }() // it ends with the stream
	timer := time.NewTimer(maxReceive)
	defer timer.Stop()
	select {
	case err := <-read:
		return &query, err
	case <-timer.C:
		return nil, status.Errorf(codes.DeadlineExceeded, "the query did not come within %v", maxReceive)
	}
}

// match looks the blocks up. Of several ranks of an engine the deepest counts.
func (s *Server) match(query *kvindexerpb.MatchExternalKvPrefixRequest) *kvindexerpb.MatchExternalKvPrefixResponse {
	hashes := query.GetHashes()
	if most := query.GetMaxBlocks(); most > 0 && int(most) < len(hashes) {
		hashes = hashes[:most]
	}
	r := s.results.Get().(*pump.Result)
	defer s.results.Put(r)
	s.opts.Index.MatchHashes(hashes, r)
	deepest := map[string]uint32{}
	for i := range r.Matches {
		m := &r.Matches[i]
		deepest[m.Owner.Worker] = max(deepest[m.Owner.Worker], uint32(m.Blocks))
	}
	out := &kvindexerpb.MatchExternalKvPrefixResponse{}
	for worker, blocks := range deepest {
		address := s.addresses.of(worker)
		if address == "" || blocks == 0 {
			continue
		}
		out.Matches = append(out.Matches, &kvindexerpb.ExternalKvPrefixMatch{WorkerAddress: address, MatchedPrefixBlocks: blocks, WorkerId: worker})
		out.BestPrefixBlocks = max(out.BestPrefixBlocks, blocks)
	}
	slices.SortFunc(out.Matches, func(a, b *kvindexerpb.ExternalKvPrefixMatch) int {
		return cmp.Or(cmp.Compare(b.GetMatchedPrefixBlocks(), a.GetMatchedPrefixBlocks()), cmp.Compare(a.GetWorkerId(), b.GetWorkerId()))
	})
	out.BlocksRead = min(out.BestPrefixBlocks+1, uint32(len(hashes)))
	return out
}
