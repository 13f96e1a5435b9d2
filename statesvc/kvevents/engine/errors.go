package engine

// Reason says why a message is unusable. Its text is a metric label.
type Reason uint8

// The reasons.
const (
	ReasonNotMsgpack    Reason = iota + 1 // the payload ends early or has bytes that mean nothing
	ReasonNotBatch                        // msgpack, but no batch of events
	ReasonFrameCount                      // a message of the wrong number of frames
	ReasonSequenceFrame                   // a sequence frame that holds no sequence number
	ReasonNotLoad                         // msgpack, but no load report
	ReasonShortLoad                       // a load report that lacks one of the first four counts
	ReasonPartialLoad                     // a load report with a part of the native counts
)

// String gives the reason's stable name.
func (r Reason) String() string {
	switch r {
	case ReasonNotMsgpack:
		return "not_msgpack"
	case ReasonNotBatch:
		return "not_a_batch"
	case ReasonFrameCount:
		return "frame_count"
	case ReasonSequenceFrame:
		return "sequence_frame"
	case ReasonNotLoad:
		return "not_a_load_report"
	case ReasonShortLoad:
		return "short_load_report"
	case ReasonPartialLoad:
		return "partial_load_report"
	}
	return "unknown"
}

// Error is a message that is unusable as a whole.
type Error struct {
	Reason Reason
	Detail string
}

// Error implements error.
func (e *Error) Error() string { return e.Reason.text() + ": " + e.Detail }

// Is makes errors with the same reason equal, so that errors.Is works with an Error
// that has only a reason.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Reason == e.Reason
}

func (r Reason) text() string {
	switch r {
	case ReasonNotMsgpack:
		return "payload is not msgpack"
	case ReasonNotBatch:
		return "payload is no batch of KV events"
	case ReasonFrameCount:
		return "message has the wrong number of frames"
	case ReasonSequenceFrame:
		return "sequence frame holds no sequence number"
	case ReasonNotLoad:
		return "payload is no load report"
	case ReasonShortLoad, ReasonPartialLoad:
		return "load report is incomplete"
	}
	return r.String()
}

func unusable(r Reason, detail string) error { return &Error{Reason: r, Detail: detail} }
