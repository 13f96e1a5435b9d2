package abi

import "unsafe"

// scratchBytes is enough for the headers of any usual request.
const scratchBytes = 32 << 10

// memory is where the host puts what it answers with: it asks the guest for room
// and fills it. Small answers go into scratch space that every callback begins
// anew, the request body goes where the caller wants it, and what fits neither is
// made for the purpose.
//
// Nothing here may call the host: inside the allocation callback hosts trap
// almost every call (envoy.md 1.3, W02).
type memory struct {
	scratch [scratchBytes]byte
	used    int
	landing []byte // wanted place of the next answer, nil for none
	last    []byte // where the last answer was put
}

func (m *memory) reset() { m.used = 0 }

// take makes room for an answer.
func (m *memory) take(size int) unsafe.Pointer {
	const align = 8
	switch {
	case size > 0 && size <= len(m.landing):
		m.last = m.landing[:size:size]
	case size < scratchBytes-m.used:
		m.last = m.scratch[m.used : m.used+size : m.used+size]
		m.used += (size + align - 1) &^ (align - 1)
	default:
		m.last = make([]byte, size)
	}
	m.landing = nil
	return unsafe.Pointer(unsafe.SliceData(m.last))
}

// expect prepares for a call whose answer is wanted in a certain place, or
// anywhere.
func (m *memory) expect(place []byte) { m.landing, m.last = place, nil }

// given is the answer of the last call: the host says how long it is.
func (m *memory) given(size uint32) []byte {
	m.landing = nil
	if int64(size) > int64(len(m.last)) {
		return nil
	}
	return m.last[:size]
}
