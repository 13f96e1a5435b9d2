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

// Counts only grow. Those of dropped messages have the names of the metrics.
type Counts struct {
	Batches    uint64 `json:"batches"`   // delivered
	Duplicates uint64 `json:"duplicate"` // ignored
	Gaps       uint64 `json:"gaps"`      // runs of missing batches
	Missing    uint64 `json:"missing"`   // batches in them
	Repaired   uint64 `json:"repaired"`  // missing batches that replays gave
	Overflows  uint64 `json:"overflow"`  // messages dropped for the queue's bounds
	Restarts   uint64 `json:"restarts"`  // processes that ended
	Fenced     uint64 `json:"fenced"`    // messages not looked at: numbers ran backwards, or the process is in doubt
	Connects   uint64 `json:"connects"`
	DialErrors uint64 `json:"dial_errors"`

	ReplaysGood uint64 `json:"replays_good"`
	ReplaysBad  uint64 `json:"replays_bad"`

	// Unusable messages.
	BadFrames   uint64 `json:"frame_count"` // of the wrong number of parts
	BadSequence uint64 `json:"sequence_frame"`
	BadTopic    uint64 `json:"topic"`
	Oversized   uint64 `json:"oversized"` // parts beyond the limit
}
