// Package segcache remembers the tokens of texts. A growing chat renders to the same
// text up to its new turns, and no token crosses the added tokens between turns, so the
// tokens of what lies between them can be kept and put together again exactly.
//
// A Cache holds at most the bytes it was given and forgets what was used longest ago. It
// is safe for concurrent use and holds no goroutine.
package segcache

import (
	"container/list"
	"strings"
	"sync"

	"github.com/cespare/xxhash/v2"
)

// shards are locked one by one.
const shards = 16

// overhead is about what an entry takes beside its text and tokens.
const overhead = 160

// Cache maps texts to their tokens.
type Cache struct {
	shard [shards]shard
}

type shard struct {
	mu      sync.Mutex
	entries map[uint64]*list.Element
	recent  list.List // the most recently used in front
	bytes   int64
	limit   int64
	hits    uint64
	misses  uint64
}

type entry struct {
	key  uint64
	text string
	ids  []uint32
}

func (e *entry) size() int64 { return int64(len(e.text)+4*len(e.ids)) + overhead }

// New makes a cache of at most limit bytes.
func New(limit int64) *Cache {
	c := &Cache{}
	for i := range c.shard {
		c.shard[i].entries = map[uint64]*list.Element{}
		c.shard[i].limit = limit / shards
	}
	return c
}

// Append appends the tokens of a text that are remembered and reports whether they
// are.
func (c *Cache) Append(dst []uint32, text string) ([]uint32, bool) {
	key := xxhash.Sum64String(text)
	s := &c.shard[key%shards]
	s.mu.Lock()
	defer s.mu.Unlock()
	if at, ok := s.entries[key]; ok {
		if e := at.Value.(*entry); e.text == text {
			s.recent.MoveToFront(at)
			s.hits++
			return append(dst, e.ids...), true
		}
	}
	s.misses++
	return dst, false
}

// Put remembers the tokens of a text; both are copied. What would take more than a
// quarter of a shard is not kept.
func (c *Cache) Put(text string, ids []uint32) {
	key := xxhash.Sum64String(text)
	s := &c.shard[key%shards]
	e := &entry{key: key, text: text, ids: ids}
	if e.size() > s.limit/4 {
		return
	}
	e.text, e.ids = strings.Clone(text), append([]uint32(nil), ids...)
	s.mu.Lock()
	defer s.mu.Unlock()
	if old, ok := s.entries[key]; ok {
		s.drop(old)
	}
	s.entries[key] = s.recent.PushFront(e)
	s.bytes += e.size()
	for s.bytes > s.limit {
		s.drop(s.recent.Back())
	}
}

func (s *shard) drop(at *list.Element) {
	e := s.recent.Remove(at).(*entry)
	delete(s.entries, e.key)
	s.bytes -= e.size()
}

// Stats are a cache's counts.
type Stats struct {
	Hits, Misses uint64
	Entries      int
	Bytes        int64
}

// Stats adds up the shards.
func (c *Cache) Stats() (all Stats) {
	for i := range c.shard {
		s := &c.shard[i]
		s.mu.Lock()
		all.Hits += s.hits
		all.Misses += s.misses
		all.Entries += len(s.entries)
		all.Bytes += s.bytes
		s.mu.Unlock()
	}
	return all
}
