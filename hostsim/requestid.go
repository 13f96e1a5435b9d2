package hostsim

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"io"
	mathrand "math/rand/v2"
	"sync"
)

// requestIDStream is the number of the random stream for request ids; VMs have the small ones.
const requestIDStream = 1 << 32

// seeded is a repeatable source of random bytes: one independent stream per number. Without a seed it is nil.
func seeded(seed uint64, stream int) io.Reader {
	if seed == 0 {
		return nil
	}
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	binary.LittleEndian.PutUint64(key[8:], uint64(stream))
	return mathrand.NewChaCha8(key)
}

// requestIDs makes the ids that Envoy gives to requests without one. Safe for concurrent use.
type requestIDs struct {
	mu     sync.Mutex
	random io.Reader
}

// newRequestIDs takes random bytes from the given source, or from the machine when it is nil.
func newRequestIDs(random io.Reader) *requestIDs {
	if random == nil {
		random = rand.Reader
	}
	return &requestIDs{random: random}
}

// next returns a random UUID (version 4).
func (r *requestIDs) next() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var b [16]byte
	// Neither source fails; a short read would only make the id less random.
	_, _ = io.ReadFull(r.random, b[:])
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	x := hex.EncodeToString(b[:])
	return x[:8] + "-" + x[8:12] + "-" + x[12:16] + "-" + x[16:20] + "-" + x[20:]
}
