package bucket_test

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/admission"
	"github.com/pointsman/pointsman/core/bucket"
	"github.com/pointsman/pointsman/core/coretest"
	"github.com/pointsman/pointsman/core/policy"
)

// Two buckets can serve a short prompt. The short one comes first because its
// capacity is smaller. When its decode engine is full the request moves on as a
// whole: the prefill engine chosen in the short bucket does not survive.
func Example() {
	fleet := coretest.NewFleet(
		coretest.Worker("P1", core.StagePrefill), coretest.Worker("D1", core.StageDecode),
		coretest.Worker("P3", core.StagePrefill), coretest.Worker("D3", core.StageDecode),
	)
	loads := &coretest.Loads{}
	resolver, err := exampleBuckets(loads)
	if err != nil {
		fmt.Println(err)
		return
	}

	request := &core.BucketRequest{Model: coretest.Model, Input: 4000, Rand: rand.New(rand.NewPCG(7, 0))}
	fmt.Println("idle fleet, output unknown")
	route(fleet, resolver, request)

	fmt.Println("long output")
	request.Peak = core.Known(16_000)
	route(fleet, resolver, request)

	fmt.Println("D1 at its limit")
	request.Peak = core.Known(8000)
	loads.SetInflight(fleet.Worker("D1"), 64)
	route(fleet, resolver, request)

	fmt.Println("D3 gone")
	fleet.Remove("D3")
	route(fleet, resolver, request)

	// Output:
	// idle fleet, output unknown
	//   short: P1 + D1 (power_of_two)
	// long output
	//   long: P3 + D3 (power_of_two)
	// D1 at its limit
	//   bucket "short": decode: rejected D1: max_inflight_requests 64 of 64
	//   long: P3 + D3 (power_of_two)
	// D3 gone
	//   bucket "short": decode: rejected D1: max_inflight_requests 64 of 64
	//   bucket "long": decode: no candidates
}

// exampleBuckets makes a short bucket of P1 and D1 and a long one of P3 and D3.
func exampleBuckets(loads policy.LoadView) (*bucket.Resolver, error) {
	pair := func(id string, most, context core.Tokens, prefill, decode core.WorkerID) (*bucket.Bucket, error) {
		limits := admission.Limits{MaxInflightRequests: new(uint64(64))}
		p, first := policy.NewPowerOfTwo(policy.DefaultChoices, limits, loads)
		d, second := policy.NewPowerOfTwo(policy.DefaultChoices, limits, loads)
		if err := errors.Join(first, second); err != nil {
			return nil, err
		}
		return bucket.New(bucket.Spec{ID: id, Max: &most, MaxContext: &context, Groups: bucket.PD(
			bucket.Group{Members: bucket.Only(prefill), Policy: p},
			bucket.Group{Members: bucket.Only(decode), Policy: d},
		)})
	}
	long, first := pair("long", 131_072, 131_072, "P3", "D3")
	short, second := pair("short", 4096, 8192, "P1", "D1")
	if err := errors.Join(first, second); err != nil {
		return nil, err
	}
	return bucket.NewResolver([]*bucket.Bucket{long, short}, bucket.Preferences{})
}

// route tries the buckets in order until one gives a complete selection.
func route(fleet bucket.Registry, resolver *bucket.Resolver, request *core.BucketRequest) {
	buckets, err := resolver.Resolve(request.Input, request.Peak, bucket.Targets{})
	if err != nil {
		fmt.Println(" ", err)
		return
	}
	for _, b := range buckets {
		pick, err := b.Pick(fleet, request)
		if err == nil {
			prefill, decode, _ := pick.Pair()
			fmt.Printf("  %s: %s + %s (%s)\n", b.ID(), prefill.Worker.ID, decode.Worker.ID, decode.Reason)
			return
		}
		fmt.Println(" ", err)
		if !core.Advance(err) {
			return
		}
	}
}
