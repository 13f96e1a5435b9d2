package host

import (
	"fmt"
	"strconv"
	"unsafe"

	"github.com/proxy-wasm/proxy-wasm-go-sdk/proxywasm"
)

// Splice puts text into the buffered request body, whose bytes the caller gives,
// and sets content-length to the new length where the request has one: the host
// sends the old one otherwise (envoy.md 4.3).
//
// A host edits a buffer at its ends only. What stands behind the text therefore
// replaces the body, and the text and what stands before it are put in front of
// that; nothing is copied inside of the guest.
func Splice(body string, offset int, text string) error {
	if offset <= 0 || offset >= len(body) {
		return fmt.Errorf("offset %d lies outside of a body of %d bytes", offset, len(body))
	}
	if err := proxywasm.ReplaceHttpRequestBody(bytesOf(body[offset:])); err != nil {
		return err
	}
	for _, part := range [...]string{text, body[:offset]} {
		if part == "" {
			continue
		}
		if err := proxywasm.PrependHttpRequestBody(bytesOf(part)); err != nil {
			return err
		}
	}
	const length = "content-length"
	if _, err := proxywasm.GetHttpRequestHeader(length); err != nil {
		return nil //nolint:nilerr // a body in chunks announces no length
	}
	return proxywasm.ReplaceHttpRequestHeader(length, strconv.Itoa(len(body)+len(text)))
}

// bytesOf gives a string's bytes to a call that only reads them.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }
