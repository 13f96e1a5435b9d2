package kvcache

import "container/list"

// host is the tier behind the device: a copy of the last blocks that were stored there.
type host struct {
	room  int
	log   *log
	order list.List // of hostKey, latest first
	found map[hostKey]*list.Element
}

type hostKey struct {
	ns   Namespace
	hash Hash
}

func newHost(room int, log *log) *host {
	return &host{room: room, log: log, found: map[hostKey]*list.Element{}}
}

// has reports whether a block is there, and counts as a use.
func (h *host) has(ns Namespace, hash Hash) bool {
	e, ok := h.found[hostKey{ns, hash}]
	if ok {
		h.order.MoveToFront(e)
	}
	return ok
}

// holds is has without being a use.
func (h *host) holds(ns Namespace, hash Hash) bool {
	_, ok := h.found[hostKey{ns, hash}]
	return ok
}

// keep copies the blocks of a stored event. Those that are there already are only used;
// what is new is announced, run by run, and what has to go for it is too. Without
// withTokens the announcement is a placeholder, as vLLM's offload tiers send it.
func (h *host) keep(e Event, withTokens bool) {
	if h.room == 0 {
		return
	}
	run := -1
	for i, hash := range e.Hashes {
		if h.has(e.Namespace, hash) {
			h.tell(e, run, i, withTokens)
			run = -1
			continue
		}
		if run < 0 {
			run = i
		}
		h.found[hostKey{e.Namespace, hash}] = h.order.PushFront(hostKey{e.Namespace, hash})
	}
	h.tell(e, run, len(e.Hashes), withTokens)
	h.shrink()
}

// tell announces blocks from..to of an event; nothing when from is negative.
func (h *host) tell(e Event, from, to int, withTokens bool) {
	if from < 0 {
		return
	}
	out := Event{Kind: Stored, Tier: Host, Hashes: e.Hashes[from:to], Namespace: e.Namespace}
	if withTokens {
		out.BlockSize = e.BlockSize
		out.Tokens = e.Tokens[from*e.BlockSize : to*e.BlockSize]
		if out.Parent = e.Parent; from > 0 {
			out.Parent = &e.Hashes[from-1]
		}
	}
	h.log.add(out)
}

func (h *host) shrink() {
	var gone []Hash
	for h.order.Len() > h.room {
		key := h.order.Remove(h.order.Back()).(hostKey)
		delete(h.found, key)
		gone = append(gone, key.hash)
	}
	if len(gone) > 0 {
		h.log.add(Event{Kind: Removed, Tier: Host, Hashes: gone})
	}
}

func (h *host) clear() {
	h.order.Init()
	clear(h.found)
}
