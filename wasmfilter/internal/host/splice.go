package host

import (
	"fmt"
	"strconv"

	"github.com/pointsman/pointsman/wasmfilter/internal/abi"
)

// Splice puts text into the buffered request body, whose bytes the caller gives,
// and sets content-length to the new length where the request has one: the host
// sends the old one otherwise (envoy.md 4.3).
//
// A host edits a buffer at its ends only. What stands before the text is
// therefore replaced together with it; what stands behind is never moved.
func Splice(body string, offset int, text string) error {
	if offset <= 0 || offset >= len(body) {
		return fmt.Errorf("offset %d lies outside of a body of %d bytes", offset, len(body))
	}
	if err := abi.EditBody(0, offset, body[:offset]+text); err != nil {
		return err
	}
	const length = "content-length"
	if _, err := abi.RequestHeader(length); err != nil {
		return nil //nolint:nilerr // a body in chunks announces no length
	}
	return abi.SetRequestHeader(length, strconv.Itoa(len(body)+len(text)))
}
