package kvreplay

import "github.com/pointsman/pointsman/statesvc/kvevents"

// Batch is the line of one message that was decoded.
type Batch struct {
	Line    string  `json:"line"` // "batch"
	Message int     `json:"message"`
	Port    int     `json:"port,omitempty"`
	Topic   string  `json:"topic"`
	Seq     int64   `json:"seq"`
	Time    float64 `json:"time"`
	Rank    *uint32 `json:"rank,omitempty"` // as the engine says; the socket's own rank is the authority
	// Note is what the sequence number says: a restart, a gap, a repeat, a late start.
	Note    string  `json:"note,omitempty"`
	Events  []Event `json:"events"`
	Dropped *Drops  `json:"dropped,omitempty"`
	Blocks  int64   `json:"blocks"` // in the index after it, all streams together
}

// Event is one event of a batch. Tokens are counted, not shown.
type Event struct {
	Type      string   `json:"type"` // "stored", "removed", "cleared"
	Tier      string   `json:"tier,omitempty"`
	Hashes    []uint64 `json:"hashes,omitempty"`
	Parent    *uint64  `json:"parent,omitempty"`
	Units     int      `json:"units,omitempty"` // tokens, or pairs of them in bigram mode
	BlockSize uint32   `json:"block_size,omitempty"`
	Bigram    bool     `json:"bigram,omitempty"`
	Salt      string   `json:"salt,omitempty"`
	LoRA      string   `json:"lora,omitempty"`
	Group     uint32   `json:"group,omitempty"`
	Window    uint32   `json:"window,omitempty"`
	Remote    bool     `json:"remote,omitempty"`
}

// Drops counts the events of a batch that made no sense; their siblings were applied.
type Drops struct {
	Malformed   uint32 `json:"malformed,omitempty"`
	UnknownKind uint32 `json:"unknown_kind,omitempty"`
	TooLarge    uint32 `json:"too_large,omitempty"`
	Tokens      uint32 `json:"tokens,omitempty"`
}

// Load is the line of a message of SGLang's load socket.
type Load struct {
	Line       string `json:"line"` // "load"
	Message    int    `json:"message"`
	Port       int    `json:"port,omitempty"`
	Running    uint64 `json:"running"`
	Waiting    uint64 `json:"waiting"`
	KVUsed     uint64 `json:"kv_used"`
	KVCapacity uint64 `json:"kv_capacity"` // 0 when the engine does not know
}

// Failure is the line of a message that could not be decoded. The stream goes on.
type Failure struct {
	Line    string `json:"line"` // "failure"
	Message int    `json:"message"`
	Port    int    `json:"port,omitempty"`
	Reason  string `json:"reason"` // engine.Reason
	Error   string `json:"error"`
}

// CaseResult is the line of one case.
type CaseResult struct {
	Line          string `json:"line"` // "case"
	Name          string `json:"name"`
	Port          int    `json:"port,omitempty"`
	Before        int    `json:"batches_seen_before"`
	PromptTokens  int    `json:"prompt_tokens"`
	Predicted     int    `json:"predicted_cached_tokens"`
	Engine        int    `json:"engine_cached_tokens"`
	Equal         bool   `json:"equal"`
	ResetPending  bool   `json:"reset_not_yet_announced"`
	Uncertain     bool   `json:"uncertain,omitempty"`        // the true hit is up to at_most_tokens
	AtMost        int    `json:"at_most_tokens,omitempty"`   // only where it differs
	OtherSize     int    `json:"other_block_size,omitempty"` // the index's, where it is not the case's
	UnknownStream bool   `json:"unknown_stream,omitempty"`   // no message of its port came before
}

// Occupancy is the line of what one stream's cache group holds in the end.
type Occupancy struct {
	Line     string           `json:"line"` // "occupancy"
	Stream   string           `json:"stream"`
	Group    uint32           `json:"group"`
	Window   uint32           `json:"window,omitempty"`
	Blocks   map[string]int64 `json:"blocks"` // by tier
	Unplaced int64            `json:"unplaced"`
}

// Index is the line of what the index made of the events.
type Index struct {
	Line            string `json:"line"` // "index"
	Bytes           int64  `json:"bytes"`
	Contents        int64  `json:"contents"` // distinct blocks by content, whoever holds them
	Unplaced        int64  `json:"unplaced"` // known by their hash only
	ExtraCopies     int64  `json:"extra_copies"`
	RemovedUnknown  uint64 `json:"removed_unknown"`
	UnknownParent   uint64 `json:"unknown_parent"`
	AmbiguousParent uint64 `json:"ambiguous_parent"`
	Mismatched      uint64 `json:"mismatched"`
	UnknownTier     uint64 `json:"unknown_tier"`
	Evicted         uint64 `json:"evicted"`
}

// Tally counts cases.
type Tally struct {
	Cases int `json:"cases"`
	Equal int `json:"equal"`
}

// Summary is the last line (design section 8).
type Summary struct {
	Line string `json:"line"` // "summary"
	// Batches counts decoded messages of event sockets.
	Batches        int `json:"batches"`
	DecodeFailures int `json:"decode_failures"`
	// DroppedEvents were left out of batches that are counted as decoded.
	DroppedEvents int `json:"dropped_events"`
	LoadReports   int `json:"load_reports"`
	// Blocks is the hashes that streams hold in the end: one held by two streams, or in
	// two cache groups, counts twice, one on two tiers once.
	Blocks   int64 `json:"blocks"`
	Missing  int64 `json:"missing_batches"` // by the sequence numbers
	Restarts int   `json:"restarts"`
	Repeats  int   `json:"repeats"`
	// Tally counts the cases without those that came between an engine's reset and its
	// announcement, which no consumer of events can predict.
	Tally
	ResetPending Tally `json:"reset_not_yet_announced"`
	// UnknownStream counts the cases of a port that no message had come from, which are
	// predicted to find nothing. Often the port is mistyped.
	UnknownStream int `json:"unknown_stream"`
	// Error is why the replay ended early.
	Error string `json:"error,omitempty"`
}

// Good reports whether everything was decoded and predicted as it was.
func (s *Summary) Good() bool {
	return s.Error == "" && s.DecodeFailures == 0 && s.DroppedEvents == 0 && s.Equal == s.Cases
}

func tierName(t kvevents.Tier) string {
	switch t {
	case kvevents.TierNone:
		return ""
	case kvevents.TierDevice:
		return "device"
	case kvevents.TierHost:
		return "host"
	case kvevents.TierDisk:
		return "disk"
	case kvevents.TierExternal:
		return "external"
	case kvevents.TierUnknown:
	}
	return "unknown"
}

func kindName(k kvevents.Kind) string {
	switch k {
	case kvevents.KindStored:
		return "stored"
	case kvevents.KindRemoved:
		return "removed"
	case kvevents.KindCleared:
		return "cleared"
	case kvevents.KindNone:
	}
	return "none"
}

func eventOf(e *kvevents.Event) Event {
	out := Event{
		Type: kindName(e.Kind), Tier: tierName(e.Tier), Units: e.Units(), BlockSize: e.BlockSize, Bigram: e.Bigram,
		Salt: e.Salt, LoRA: e.LoRA, Group: e.Group, Window: e.Window, Remote: e.Remote,
	}
	for _, h := range e.Hashes {
		out.Hashes = append(out.Hashes, uint64(h))
	}
	if e.HasParent {
		parent := uint64(e.Parent)
		out.Parent = &parent
	}
	return out
}
