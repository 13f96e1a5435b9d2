package zmqsub

import "time"

// Status is how a stream stands.
type Status struct {
	Endpoint  string
	Connected bool
	Reason    Reason    // why trust is not full
	Since     time.Time // of the reason
	// Last is the number of the last batch delivered, -1 when none was.
	Last int64
	// Queued counts messages that came and are not delivered yet.
	Queued int
	// Error is the last trouble with the network, empty when there is none.
	Error  string
	Counts Counts
}

// Trust is the level that the reason leaves.
func (s Status) Trust() Trust { return s.Reason.Trust() }

// Counts only grow.
type Counts struct {
	Batches    uint64 // delivered
	Duplicates uint64 // ignored
	Gaps       uint64 // runs of missing batches
	Missing    uint64 // batches in them
	Repaired   uint64 // missing batches that replays gave
	Overflows  uint64 // messages dropped for the queue's bounds
	Restarts   uint64 // processes that ended
	Fenced     uint64 // messages not looked at while numbers ran backwards
	Connects   uint64
	DialErrors uint64

	ReplaysGood, ReplaysBad uint64

	// Unusable messages.
	BadFrames   uint64 // of the wrong number of parts
	BadSequence uint64
	BadTopic    uint64
	Oversized   uint64 // parts beyond the limit
}
