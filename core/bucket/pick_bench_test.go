package bucket_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/bucket"
	"github.com/pointsman/pointsman/core/coretest"
)

// pairScene is a fleet of n engines, half of each role, with native reports, and
// a resolver of two PD buckets over all of them.
func pairScene(t testing.TB, n int) (*coretest.Fleet, *bucket.Resolver) {
	fleet, loads := coretest.NewFleet(), &coretest.Loads{}
	for i := range n {
		w := coretest.Worker(core.WorkerID(fmt.Sprintf("w%04d", i)), []core.Stage{core.StagePrefill, core.StageDecode}[i%2])
		fleet.Add(w)
		loads.SetReport(w, coretest.NativeReport())
		loads.SetInflight(w, uint64(i%8))
	}
	pd := func(id string, most core.Tokens) *bucket.Bucket {
		return mustNew(t, bucket.Spec{ID: id, Max: &most, Groups: bucket.PD(
			group(powerOfTwo(t, capInflight(64), loads)), group(powerOfTwo(t, capInflight(64), loads)),
		)})
	}
	return fleet, resolver(t, pd("short", 4096), pd("long", 131072))
}

// decide resolves and picks, as the request machine does.
func decide(fleet bucket.Registry, r *bucket.Resolver, req *core.BucketRequest) error {
	buckets, err := r.Resolve(req.Input, req.Peak, bucket.Targets{})
	if err != nil {
		return err
	}
	for _, b := range buckets {
		if _, err = b.Pick(fleet, req); err == nil || !core.Advance(err) {
			return err
		}
	}
	return err
}

func TestBucket_decision_does_not_allocate(t *testing.T) {
	fleet, r := pairScene(t, 64)
	req := coretest.Request(1)
	require.NoError(t, decide(fleet, r, req))
	require.Zero(t, testing.AllocsPerRun(500, func() {
		if err := decide(fleet, r, req); err != nil {
			t.Error(err)
		}
	}))
}

func BenchmarkDecision(b *testing.B) {
	for _, n := range []int{10, 100, 1000, 10_000} {
		b.Run(fmt.Sprintf("workers=%d/shape=pd/policy=power_of_two", n), func(b *testing.B) {
			fleet, r := pairScene(b, n)
			req := coretest.Request(1)
			b.ReportAllocs()
			for b.Loop() {
				if err := decide(fleet, r, req); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkResolve(b *testing.B) {
	_, r := pairScene(b, 2)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Resolve(100, core.Known(200), bucket.Targets{}); err != nil {
			b.Fatal(err)
		}
	}
}
