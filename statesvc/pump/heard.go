package pump

import (
	"sync/atomic"
	"time"

	"github.com/pointsman/pointsman/core"
)

// heard is when something was last learned of a cache. The zero value is never. It is
// safe for concurrent use.
type heard struct{ at atomic.Pointer[time.Time] }

func (h *heard) now() {
	now := time.Now()
	h.at.Store(&now)
}

// age is the milliseconds since, unknown when nothing ever was learned.
func (h *heard) age(now time.Time) core.Count {
	at := h.at.Load()
	if at == nil {
		return core.Count{}
	}
	return core.Known(uint64(max(now.Sub(*at).Milliseconds(), 0)))
}
