package zmqsub

// Trust is how far what a stream delivered tells what its engine holds.
type Trust uint8

// The levels. At TrustNone nothing that is known should be used, at TrustPartial it may
// lack blocks that the engine has, and name some that it has not.
const (
	TrustNone Trust = iota
	TrustPartial
	TrustFull
)

// String gives the level's stable name.
func (t Trust) String() string {
	switch t {
	case TrustPartial:
		return "partial"
	case TrustFull:
		return "full"
	case TrustNone:
		return "none"
	}
	return "none"
}

// Reason says why a stream is not trusted fully.
type Reason uint8

// The reasons, with what ends them. Every reason but ReasonConnecting, ReasonNoFeed and
// ReasonBackwards ends with a batch that clears the cache, and with a new process of
// the engine.
const (
	// ReasonNone: trust is full.
	ReasonNone Reason = iota
	// ReasonBackwards: sequence numbers run backwards again and again. Nothing is
	// delivered until they have not for a while.
	ReasonBackwards
	// ReasonConnecting: the socket was never reached.
	ReasonConnecting
	// ReasonNoFeed: connected, and nothing came yet: not an empty cache (field report
	// C19). Ends with the first batch, or when a replay says that there is none.
	ReasonNoFeed
	// ReasonDisconnected: the connection broke. Ends when it is back and nothing was
	// missed.
	ReasonDisconnected
	// ReasonBehind: a replay is under way, or broke off and is tried again. Ends when
	// nothing is missing.
	ReasonBehind
	// ReasonLateJoin: what was published before the subscription is not known, and not
	// to be had. Ends, if ever, with a replay from number 0.
	ReasonLateJoin
	// ReasonGap: batches were lost. Ends with a replay from number 0.
	ReasonGap
	// ReasonUndecodable: a batch, or an event of one, made no sense.
	ReasonUndecodable
	// ReasonTooLarge: a message, an event or its tokens were over a limit.
	ReasonTooLarge
	reasons // their number
)

// String gives the reason's stable name, a metric label.
func (r Reason) String() string {
	switch r {
	case ReasonNone:
		return "none"
	case ReasonConnecting:
		return "connecting"
	case ReasonNoFeed:
		return "no_feed"
	case ReasonBackwards:
		return "sequence_backwards"
	case ReasonDisconnected:
		return "disconnected"
	case ReasonBehind:
		return "behind"
	case ReasonLateJoin:
		return "late_join"
	case ReasonGap:
		return "gap"
	case ReasonUndecodable:
		return "undecodable"
	case ReasonTooLarge:
		return "too_large"
	case reasons:
	}
	return "unknown"
}

// Distrusts names every reason but ReasonNone.
func Distrusts() []string {
	var names []string
	for r := ReasonNone + 1; r < reasons; r++ {
		names = append(names, r.String())
	}
	return names
}

// Trust is the level that a reason leaves.
func (r Reason) Trust() Trust {
	switch r {
	case ReasonNone:
		return TrustFull
	case ReasonConnecting, ReasonNoFeed, ReasonBackwards:
		return TrustNone
	case ReasonDisconnected, ReasonBehind, ReasonLateJoin, ReasonGap, ReasonUndecodable, ReasonTooLarge, reasons:
	}
	return TrustPartial
}

// doubts is the set of present reasons.
type doubts uint16

func (d *doubts) add(r Reason)     { *d |= 1 << r }
func (d *doubts) drop(r Reason)    { *d &^= 1 << r }
func (d doubts) has(r Reason) bool { return d&(1<<r) != 0 }

// reason is the present reason that weighs most: the first of those that leave no trust,
// else the first in order.
func (d doubts) reason() Reason {
	for r := ReasonNone + 1; r < reasons; r++ {
		if d.has(r) {
			return r
		}
	}
	return ReasonNone
}

const (
	// incomplete are the reasons that a known-empty cache ends.
	incomplete = lost | 1<<ReasonUndecodable | 1<<ReasonTooLarge
	// lost are those that a replay of everything may end.
	lost = doubts(1<<ReasonLateJoin | 1<<ReasonGap)
	// unsure are those that end when nothing turns out to be missing.
	unsure = doubts(1<<ReasonConnecting | 1<<ReasonNoFeed | 1<<ReasonDisconnected | 1<<ReasonBehind)
)
