package wire

import (
	"errors"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// InputIDsVerdict says whether a chat may be forwarded with its token ids
// (engine-selection.md 12.5).
type InputIDsVerdict uint8

// The verdicts, by their numbers on the wire.
const (
	InputIDsUnavailable InputIDsVerdict = iota // nobody could tell
	InputIDsGiven
	InputIDsCaller
	InputIDsNoMessages
	InputIDsTools
	InputIDsNonTextContent
	InputIDsReasoningContent
	InputIDsRoleRewrite
	InputIDsTemplateControls
	InputIDsAssistantContinuation
	InputIDsTokenizeFailed
	InputIDsUnverified
	InputIDsTooLong
)

// InputIDs are the tokens of a chat, or why there are none.
type InputIDs struct {
	Verdict InputIDsVerdict
	IDs     []uint32 // with InputIDsGiven only
}

// verdictOf maps the wire's enum; what this reader does not know is unavailable.
func verdictOf(v uint64) InputIDsVerdict {
	if uint32(v) > uint32(InputIDsTooLong) {
		return InputIDsUnavailable
	}
	return InputIDsVerdict(uint32(v))
}

func decodeInputIDs(msg []byte, to *InputIDs) error {
	return walk(msg, func(f field) (err error) {
		switch {
		case f.number == 1 && f.kind == protowire.VarintType:
			to.Verdict = verdictOf(f.num)
		case f.number == 2:
			to.IDs, err = appendUints(to.IDs, &f)
		}
		return err
	})
}

var errPacked = errors.New("a packed number is cut off")

// appendUints appends the numbers of a repeated field, packed or one of them. What is
// over 32 bits is cut, as protobuf readers do.
func appendUints(dst []uint32, f *field) ([]uint32, error) {
	if f.kind == protowire.VarintType {
		return append(dst, uint32(f.num)), nil
	}
	if f.kind != protowire.BytesType {
		return dst, nil
	}
	if dst == nil {
		dst = make([]uint32, 0, countVarints(f.raw))
	}
	for raw := f.raw; len(raw) > 0; {
		n, size := protowire.ConsumeVarint(raw)
		if size < 0 {
			return dst, errPacked
		}
		dst, raw = append(dst, uint32(n&math.MaxUint32)), raw[size:]
	}
	return dst, nil
}

// countVarints counts the numbers of a packed field by their last bytes.
func countVarints(raw []byte) (n int) {
	for _, b := range raw {
		if b < 0x80 {
			n++
		}
	}
	return n
}
