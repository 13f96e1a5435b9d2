package coretest

import (
	"fmt"
	"math/rand/v2"

	"github.com/pointsman/pointsman/core"
)

// Worker makes a healthy engine that serves Model in a stage.
func Worker(id core.WorkerID, stage core.Stage) *core.Worker {
	return &core.Worker{ID: id, Models: []string{Model}, Stage: stage, Generation: 1, Healthy: true}
}

// Workers makes n healthy plain engines w0000, w0001, ... in ID order, each with
// its index as slot.
func Workers(n int) []*core.Worker {
	workers := make([]*core.Worker, n)
	for i := range workers {
		workers[i] = Worker(core.WorkerID(fmt.Sprintf("w%04d", i)), core.StagePlain)
		workers[i].Slot = i
	}
	return workers
}

// Request makes a request for Model of 100 tokens, peak unknown, with a random
// source of the seed.
func Request(seed uint64) *core.BucketRequest {
	return &core.BucketRequest{Model: Model, Input: 100, Rand: rand.New(rand.NewPCG(seed, 0))}
}

// PickRequest wraps Request as the policy of bucket "b" sees it.
func PickRequest(seed uint64, stage core.Stage) *core.PickRequest {
	return &core.PickRequest{BucketRequest: Request(seed), Stage: stage, Bucket: "b"}
}

// NativeReport makes a complete native report of an idle engine that holds
// 1,000 KV tokens and runs 10 requests at once.
func NativeReport() *core.LoadReport {
	return &core.LoadReport{
		Running: core.Known(0), Waiting: core.Known(0), WaitingUncached: core.Known(0),
		KVUsed: core.Known(0), KVTotal: core.Known(0),
		KVCapacity: core.Known(1000), RunningCapacity: core.Known(10),
	}
}
