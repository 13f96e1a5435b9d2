package host

import (
	"encoding/binary"
	"unsafe"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/wasmfilter/internal/abi"
)

// shelfSlots is how many conversations a proxy's shelf remembers, each by its last
// turn. A newer one takes the place of an older one of the same slot, so the
// host's memory for it is bounded: some 200 bytes a slot.
const shelfSlots = 1 << 14

// maxShelfID is the longest worker ID that is put there.
const maxShelfID = 256

const (
	shelfKey  = "pointsman.sent."
	shelfHead = 16 // the hash and the generation
)

// Shelf is the part of the host's shared data in which the contexts of one proxy
// leave word of what they sent where (design section 5b). It outlives no host and
// may lose anything. The zero value is ready.
type Shelf struct {
	key   [len(shelfKey) + 4]byte
	value [shelfHead + maxShelfID]byte
}

// Put implements flow.Shelf.
func (s *Shelf) Put(tip uint64, id core.WorkerID, generation uint64) {
	if len(id) > maxShelfID {
		return
	}
	binary.LittleEndian.PutUint64(s.value[:], tip)
	binary.LittleEndian.PutUint64(s.value[8:], generation)
	n := shelfHead + copy(s.value[shelfHead:], id)
	// A shelf that takes nothing is an empty one.
	_ = abi.SetSharedData(s.slot(tip), unsafe.String(&s.value[0], n))
}

// Get implements flow.Shelf.
func (s *Shelf) Get(tip uint64) (id core.WorkerID, generation uint64, ok bool) {
	value, err := abi.SharedData(s.slot(tip))
	if err != nil || len(value) <= shelfHead || binary.LittleEndian.Uint64(value) != tip {
		return "", 0, false
	}
	text := value[shelfHead:]
	return core.WorkerID(unsafe.String(&text[0], len(text))), binary.LittleEndian.Uint64(value[8:]), true
}

// slot is the key of a hash's slot.
func (s *Shelf) slot(tip uint64) string {
	const digits = "0123456789abcdef"
	copy(s.key[:], shelfKey)
	for i, n := len(s.key)-1, tip%shelfSlots; i >= len(shelfKey); i-- {
		s.key[i] = digits[n%16]
		n /= 16
	}
	return unsafe.String(&s.key[0], len(s.key))
}
