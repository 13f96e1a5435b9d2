package host

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/pointsman/pointsman/core/flow"
	"github.com/pointsman/pointsman/wasmfilter/internal/abi"
)

// Splice puts texts into the buffered request body, whose bytes the caller gives,
// in order of their places, and sets content-length to the new length where the
// request has one: the host sends the old one otherwise (envoy.md 4.3).
//
// A host edits a buffer at its ends only. What stands before the last text is
// therefore replaced together with it; what stands behind is never moved.
func Splice(body string, insertions []flow.Insertion) error {
	head, end, err := headWith(body, insertions)
	if err != nil {
		return err
	}
	if err := abi.EditBody(0, end, head); err != nil {
		return err
	}
	const length = "content-length"
	if _, err := abi.RequestHeader(length); err != nil {
		return nil //nolint:nilerr // a body in chunks announces no length
	}
	return abi.SetRequestHeader(length, strconv.Itoa(len(body)-end+len(head)))
}

// headWith is the body up to the last insertion, with all of them in it, and how
// much of the body it takes the place of.
func headWith(body string, insertions []flow.Insertion) (head string, end int, err error) {
	size := 0
	for _, in := range insertions {
		if in.At <= 0 || in.At < end || in.At >= len(body) {
			return "", 0, fmt.Errorf("offset %d lies outside of a body of %d bytes", in.At, len(body))
		}
		end = in.At
		size += len(in.Text)
	}
	var b strings.Builder
	b.Grow(end + size)
	at := 0
	for _, in := range insertions {
		b.WriteString(body[at:in.At])
		b.WriteString(in.Text)
		at = in.At
	}
	return b.String(), end, nil
}
