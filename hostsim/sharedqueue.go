package hostsim

import (
	"slices"
	"sync"
)

// sharedQueues are the process-wide queues. Each reports to its last registrar only (envoy.md 6.2).
type sharedQueues struct {
	mu     sync.Mutex
	tokens map[queueName]uint32
	queues map[uint32]*sharedQueue
}

type queueName struct{ vmID, name string }

type sharedQueue struct {
	items [][]byte
	// ready tells the last registrar that there is an item.
	ready func()
}

func newSharedQueues() *sharedQueues {
	return &sharedQueues{tokens: map[queueName]uint32{}, queues: map[uint32]*sharedQueue{}}
}

// register makes ready, called with the queue's token, the only receiver of its notices.
func (q *sharedQueues) register(vmID, name string, ready func(token uint32)) uint32 {
	q.mu.Lock()
	defer q.mu.Unlock()
	key := queueName{vmID, name}
	token, exists := q.tokens[key]
	if !exists {
		token = uint32(len(q.tokens) + 1)
		q.tokens[key] = token
		q.queues[token] = &sharedQueue{}
	}
	q.queues[token].ready = func() { ready(token) }
	return token
}

func (q *sharedQueues) resolve(vmID, name string) (token uint32, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	token, ok = q.tokens[queueName{vmID, name}]
	return token, ok
}

func (q *sharedQueues) enqueue(token uint32, item []byte) Status {
	q.mu.Lock()
	queue, ok := q.queues[token]
	if !ok {
		q.mu.Unlock()
		return StatusNotFound
	}
	queue.items = append(queue.items, slices.Clone(item))
	ready := queue.ready
	q.mu.Unlock()
	ready()
	return StatusOK
}

func (q *sharedQueues) dequeue(token uint32) ([]byte, Status) {
	q.mu.Lock()
	defer q.mu.Unlock()
	queue, ok := q.queues[token]
	switch {
	case !ok:
		return nil, StatusNotFound
	case len(queue.items) == 0:
		return nil, StatusEmpty
	}
	item := queue.items[0]
	queue.items = queue.items[1:]
	return item, StatusOK
}
