package guest

import (
	"fmt"
	"time"

	"github.com/pointsman/pointsman/core/wire"
	"github.com/pointsman/pointsman/e2e/bench/engine"
	"github.com/pointsman/pointsman/hostsim"
	"github.com/pointsman/pointsman/statesvc/wirepb"
	"google.golang.org/protobuf/proto"
)

// Change is what a sync reply brings.
type Change uint8

// The changes.
const (
	ChangeNothing Change = iota // the fleet stands still
	ChangeLoad                  // a new load report of every worker
	ChangeAll                   // the whole fleet, as after a restart of the state service
)

// String names the change for tables.
func (c Change) String() string {
	return [...]string{"nothing", "every load", "whole fleet"}[c]
}

// fleet is a state service that answers every sync in the same way.
type fleet struct {
	workers int
	next    Change
	version uint64
	seq     uint64
	sent    int           // bytes of the last report
	got     int           // bytes of the last reply
	spent   time.Duration // making replies
}

func newFleet(workers int) *fleet { return &fleet{workers: workers, next: ChangeAll} }

func (f *fleet) answer(c hostsim.Callout) hostsim.CalloutReply {
	start := time.Now()
	defer func() { f.spent += time.Since(start) }()
	f.seq++ // one call is in flight at a time, so the numbers agree
	reply := &wirepb.SyncReply{Replica: 1, Seq: f.seq}
	if f.next != ChangeNothing {
		f.version++
		f.fill(reply)
	}
	reply.Version = f.version
	body, err := proto.Marshal(reply)
	if err != nil {
		return hostsim.TextReply(500, err.Error())
	}
	f.sent, f.got = len(c.Body), len(body)
	return hostsim.CalloutReply{Headers: hostsim.NewHeaders([2]string{":status", "200"}, [2]string{"content-type", wire.ContentType}), Body: body}
}

func (f *fleet) fill(reply *wirepb.SyncReply) {
	reply.Full = f.next == ChangeAll
	for i := range f.workers {
		id := fmt.Sprintf("engine-%04d", i)
		if reply.Full {
			reply.Workers = append(reply.Workers, &wirepb.Worker{
				Id: id, Address: fmt.Sprintf("10.0.%d.%d:8000", i/256, i%256), Models: []string{engine.Model},
				Stage: wirepb.Stage_STAGE_PLAIN, Generation: 1, Healthy: true,
			})
		}
		reply.States = append(reply.States, &wirepb.WorkerState{Id: id, Generation: 1, OthersInflight: uint32(f.version % 3), Report: &wirepb.LoadReport{
			AgeMs: 100, Running: new(f.version % 8), Waiting: new(uint64(0)), KvUsed: new(1000 + f.version), KvTotal: new(uint64(2000)), KvCapacity: new(uint64(65536)),
		}})
	}
}
