package zmqsub

import (
	"sync"

	"github.com/pointsman/pointsman/statesvc/kvevents/engine"
)

// item is what the subscriber hands to the follower.
type item struct {
	kind itemKind
	msg  engine.Message
	// oversized is a batch whose payload was over the limit and is not there.
	oversized bool
	link      uint64 // number of the connection
	err       error  // of itemDown
}

type itemKind uint8

const (
	itemMessage itemKind = iota
	itemUp               // connected and subscribed
	itemDown             // the connection broke
	itemRenewed          // somebody knows that the process ended
)

// queue is bounded in messages and bytes. It takes a message of any size when it is
// empty, and changes of the connection always: there are two per attempt to connect.
type queue struct {
	maxItems, maxBytes int
	ready              chan struct{} // holds a token while there may be items

	mu      sync.Mutex
	items   []item
	bytes   int
	dropped uint64
}

func newQueue(items, bytes int) *queue {
	return &queue{maxItems: items, maxBytes: bytes, ready: make(chan struct{}, 1)}
}

// offer adds an item, or drops it and reports false.
func (q *queue) offer(it item) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	size := len(it.msg.Payload)
	if it.kind == itemMessage && len(q.items) > 0 && (len(q.items) >= q.maxItems || q.bytes+size > q.maxBytes) {
		q.dropped++
		return false
	}
	q.items = append(q.items, it)
	q.bytes += size
	select {
	case q.ready <- struct{}{}:
	default:
	}
	return true
}

// take gives the oldest item, false when there is none.
func (q *queue) take() (item, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.items) == 0 {
		q.items = nil
		return item{}, false
	}
	it := q.items[0]
	q.items[0] = item{}
	q.items = q.items[1:]
	q.bytes -= len(it.msg.Payload)
	return it, true
}

// held counts the items, and all messages ever dropped.
func (q *queue) held() (items int, dropped uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.items), q.dropped
}
