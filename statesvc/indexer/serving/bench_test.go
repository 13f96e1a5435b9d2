package serving_test

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"testing"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/statesvc/fleet"
	"github.com/pointsman/pointsman/statesvc/indexer"
	"github.com/pointsman/pointsman/statesvc/indexer/serving"
	"github.com/pointsman/pointsman/statesvc/kvevents"
	"github.com/pointsman/pointsman/statesvc/kvindex"
	"github.com/pointsman/pointsman/statesvc/kvindex/sglhash"
	"github.com/pointsman/pointsman/statesvc/pump"
	"github.com/stretchr/testify/require"
)

// indexed is an index of engines that all hold one prompt of 6,250 blocks.
type indexed struct {
	index   *kvindex.Index
	engines int
	found   kvindex.Result
}

func (x *indexed) MatchHashes(hashes []int64, r *pump.Result) {
	x.index.MatchPublic(hashes, &x.found)
	r.Matches = r.Matches[:0]
	for i := range x.found.Matches {
		r.Matches = append(r.Matches, pump.Match{Match: x.found.Matches[i]})
	}
}

func (x *indexed) Status() (list []fleet.Status) {
	for i := range x.engines {
		list = append(list, fleet.Status{Worker: core.Worker{ID: core.WorkerID(fmt.Sprint("w", i))}, URL: fmt.Sprintf("http://10.0.0.%d:30000", i)})
	}
	return list
}

// BenchmarkLookup is one lookup over loopback by the client of this project, one at a
// time, of prompts of so many blocks that 8 engines hold; "here" is the same without the
// network. Hashing the tokens is a part of neither, and of "hashing" alone.
func BenchmarkLookup(b *testing.B) {
	const size, most = 16, 6250
	random := rand.New(rand.NewPCG(1, 1))
	tokens := make([]uint32, size*most)
	for i := range tokens {
		tokens[i] = random.Uint32N(150_000)
	}
	x := &indexed{index: kvindex.New(kvindex.Config{Seed: 5, Public: true}), engines: 8}
	e := &kvevents.Event{Kind: kvevents.KindStored, Tokens: tokens, BlockSize: size}
	for i := range most {
		e.Hashes = append(e.Hashes, kvevents.Hash(i+1))
	}
	for i := range x.engines {
		x.index.Apply(kvindex.Owner{Worker: fmt.Sprint("w", i)}, e)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(b, err)
	s := serving.New(serving.Options{Index: x, Fleet: x, MaxInflight: 4, MaxConnections: 4})
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	c := indexer.New(indexer.Options{Endpoints: []string{"http://" + l.Addr().String()}, Timeout: patient, MaxInflight: 4, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(b, c.Start())
	b.Cleanup(func() {
		c.Close()
		s.Stop(b.Context())
		require.NoError(b, <-served)
	})
	for _, blocks := range []int{64, 512, most} {
		var hashes []int64
		b.Run(fmt.Sprintf("hashing/blocks=%d", blocks), func(b *testing.B) {
			for b.Loop() {
				hashes, err = sglhash.Hashes(hashes[:0], tokens[:blocks*size], sglhash.Options{BlockSize: size})
			}
			require.NoError(b, err)
		})
		hashes, err = sglhash.Hashes(nil, tokens[:blocks*size], sglhash.Options{BlockSize: size})
		require.NoError(b, err)
		b.Run(fmt.Sprintf("here/blocks=%d", blocks), func(b *testing.B) {
			var r pump.Result
			for b.Loop() {
				x.MatchHashes(hashes, &r)
			}
			require.Len(b, r.Matches, x.engines)
		})
		b.Run(fmt.Sprintf("remote/blocks=%d", blocks), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if a := c.Match(b.Context(), hashes); len(a.Matches) != x.engines || a.Matches[0].Blocks != blocks {
					b.Fatal(a)
				}
			}
		})
	}
}
