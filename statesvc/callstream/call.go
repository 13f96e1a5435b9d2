package callstream

import (
	"errors"

	"github.com/pointsman/pointsman/core/wire"
)

var errNoCall = errors.New("not a call: the message is cut off or has a field of another type")

// Call is one call, its parts still encoded and cut from the message that they came in.
type Call = wire.EncodedCall

// Decode takes a Call message apart without copying.
func Decode(message []byte) (*Call, error) {
	c, err := wire.DecodeCall(message)
	if err != nil {
		return nil, errNoCall
	}
	return &c, nil
}
