package hostsim

import "sync"

// outbox carries a response from a VM's goroutine, which must not wait, to the handler that writes it to the client.
// Safe for concurrent use by one writer and one reader.
type outbox struct {
	mu     sync.Mutex
	items  []outItem
	bytes  int
	room   sync.Cond
	closed bool
	// wake holds a token while there may be items.
	wake chan struct{}
}

// outItem is one step of a response: headers, data, trailers or the end of the stream.
type outItem struct {
	headers *Headers
	// bare says that no body follows the headers.
	bare     bool
	data     []byte
	trailers *Headers
	// done says that the stream is over, cut that it ended before the response did.
	done, cut bool
}

func newOutbox() *outbox {
	o := &outbox{wake: make(chan struct{}, 1)}
	o.room.L = &o.mu
	return o
}

func (o *outbox) put(it outItem) {
	o.mu.Lock()
	o.items = append(o.items, it)
	o.bytes += len(it.data)
	o.mu.Unlock()
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// take returns all items that wait.
func (o *outbox) take() []outItem {
	o.mu.Lock()
	defer o.mu.Unlock()
	items := o.items
	o.items = nil
	return items
}

// written makes room after n bytes went to the client.
func (o *outbox) written(n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.bytes -= n
	o.room.Broadcast()
}

// waitBelow blocks while more than limit bytes wait for the client.
func (o *outbox) waitBelow(limit int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.bytes > limit && !o.closed {
		o.room.Wait()
	}
}

// close lets all waiters go.
func (o *outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.room.Broadcast()
}
