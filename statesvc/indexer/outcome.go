package indexer

import (
	"strings"
	"unicode/utf8"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Outcome is what became of a lookup or of one call of it.
type Outcome int

// The outcomes. All after Empty but Rejected mean that nobody could be asked.
const (
	Matched     Outcome = iota // some worker holds the first block
	Empty                      // none does
	Timeout                    // no answer in time
	Unreachable                // no connection
	Overloaded                 // too many lookups, there or here
	TooLarge                   // more blocks than the indexer takes
	Senseless                  // an answer that cannot be one to the question
	Rejected                   // refused: a person must look
)

// outcomes counts them.
const outcomes = int(Rejected) + 1

// String is the outcome's label in metrics, and its name for people.
func (o Outcome) String() string {
	if o < 0 || int(o) >= outcomes {
		return "unknown"
	}
	return [...]string{"matched", "empty", "timeout", "unreachable", "overloaded", "too_large", "senseless", "rejected"}[o]
}

// movesOn reports whether another endpoint may do better (engine-selection.md 11.2). An
// answer without sense is this endpoint's own fault as well.
func (o Outcome) movesOn() bool {
	switch o {
	case Timeout, Unreachable, Overloaded, Senseless:
		return true
	case Matched, Empty, TooLarge, Rejected:
	}
	return false
}

// tooLong is how grpc begins to say that it did not read an answer for its length. It
// has no code of its own.
const tooLong = "grpc: received message"

// outcomeOf maps the status of a call (engine-selection.md 11.2).
func outcomeOf(err error) (Outcome, string) {
	s := status.Convert(err)
	why := brief(s.Message())
	switch s.Code() {
	case codes.Unavailable:
		return Unreachable, why
	case codes.DeadlineExceeded, codes.Canceled:
		return Timeout, why
	case codes.ResourceExhausted:
		if strings.HasPrefix(s.Message(), tooLong) {
			return Senseless, why
		}
		return Overloaded, why
	case codes.OutOfRange:
		return TooLarge, why
	case codes.OK, codes.Unknown, codes.InvalidArgument, codes.NotFound, codes.AlreadyExists, codes.PermissionDenied, codes.FailedPrecondition,
		codes.Aborted, codes.Unimplemented, codes.Internal, codes.DataLoss, codes.Unauthenticated:
	}
	return Rejected, brief(s.Code().String() + ": " + s.Message())
}

// maxWhy bounds what another process says of itself, in bytes.
const maxWhy = 160

// brief makes another process's words fit to be shown.
func brief(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == utf8.RuneError {
			return ' '
		}
		return r
	}, text[:min(len(text), 4*maxWhy)])
	for len(text) > maxWhy {
		_, n := utf8.DecodeLastRuneInString(text)
		text = text[:len(text)-n]
	}
	return text
}
