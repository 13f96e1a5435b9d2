// Package wire is the filter's side of the messages between filter contexts and
// the state service. pointsman.proto is the contract; the code here walks it by
// hand with protowire, since reflection and generated code are too heavy for
// the wasm module. A fuzz test in statesvc holds it against the generated code.
package wire

import "github.com/pointsman/pointsman/core"

// ContentType is the media type of every message.
const ContentType = "application/x-protobuf"

// SyncPath is where a context posts its gauges (design section 4).
const SyncPath = "/v1/sync"

// SyncRequest is one context's report. Fields are documented in pointsman.proto.
type SyncRequest struct {
	Context       uint64
	Proxy         string
	Seq           uint64
	Replica       uint64 // 0 when no snapshot was applied
	Version       uint64
	Idle          bool
	TickMillis    uint32
	FilterVersion string
	Workers       []WorkerGauge
	Used          []UsedBinding
	History       History
}

// WorkerGauge is what one context knows of one worker.
type WorkerGauge struct {
	ID            core.WorkerID
	Generation    uint64
	Inflight      uint32
	RecentAges    []uint32 // in ticks, of open requests younger than 5 s
	BreakerStreak uint32
	BreakerOpen   bool
	AnsweredAge   core.Count // milliseconds
	FailedAge     core.Count // milliseconds
}

// SyncReply is the fleet or what changed of it.
type SyncReply struct {
	Replica uint64
	Version uint64
	Full    bool
	Seq     uint64
	Workers []Worker
	Removed []core.WorkerID
	States  []WorkerState
	History History
}

// Worker describes one engine on the wire.
type Worker struct {
	ID         core.WorkerID
	Address    string
	Models     []string
	Adapters   []core.Adapter
	Stage      core.Stage
	Version    string // version group
	Services   []string
	Generation uint64
	Healthy    bool
	Draining   bool
	Aborts     bool // by rid
	Ranks      uint32
	InputIDs   bool // takes them beside the messages of a chat
	Recoveries uint64
}

// WorkerState is one worker's load.
type WorkerState struct {
	ID             core.WorkerID
	Generation     uint64
	OthersInflight uint32
	HasReport      bool
	AgeMillis      uint64
	Report         core.LoadReport
}
