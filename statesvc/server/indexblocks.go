package server

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/pointsman/pointsman/statesvc/kvindex"
)

// Blocks of one answer.
const (
	maxIndexBlocks = 1000
	fewIndexBlocks = 100 // unless asked otherwise
)

// blockList is the answer of GET /v1/index/blocks.
type blockList struct {
	Blocks []blockEntry `json:"blocks"`
	More   bool         `json:"more"`
}

type blockEntry struct {
	Hash      string        `json:"hash"`
	Parent    string        `json:"parent,omitempty"` // absent for a first block
	Depth     int           `json:"depth"`
	BlockSize int           `json:"block_size"`
	Bigram    bool          `json:"bigram,omitempty"`
	Leaf      bool          `json:"leaf"`
	Holders   []holderEntry `json:"holders"`
}

type holderEntry struct {
	Worker string   `json:"worker"`
	Rank   uint32   `json:"rank"`
	Group  uint32   `json:"group"`
	Tiers  []string `json:"tiers"`
}

// indexBlocks is GET /v1/index/blocks: some blocks of everywhere, or those whose hash
// begins with the given digits. One call at a time, since the index's writers wait.
func (s *Server) indexBlocks(w http.ResponseWriter, r *http.Request) {
	query, ok := onlyKnown(w, r, "limit", "hash")
	if !ok {
		return
	}
	limit := fewIndexBlocks
	if text := query.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > maxIndexBlocks {
			fail(w, http.StatusBadRequest, badRequest, fmt.Sprintf("limit: want a number from 1 to %d", maxIndexBlocks))
			return
		}
		limit = n
	}
	hash := query.Get("hash")
	prefix, err := strconv.ParseUint(hash, 16, 64)
	if hash != "" && (err != nil || len(hash) > 16) {
		fail(w, http.StatusBadRequest, badRequest, "hash: want 1 to 16 hexadecimal digits, the beginning of a block's hash")
		return
	}
	select {
	case s.dumping <- struct{}{}:
		defer func() { <-s.dumping }()
	default:
		unavailable(w, overloaded, "blocks are being listed for somebody else; try again")
		return
	}
	var list blockList
	var blocks []kvindex.BlockView
	if hash != "" {
		blocks, list.More = s.index.Index().Find(nil, prefix, len(hash), limit)
	} else {
		blocks, list.More = s.index.Index().Dump(nil, limit)
	}
	list.Blocks = make([]blockEntry, 0, len(blocks))
	for i := range blocks {
		list.Blocks = append(list.Blocks, block(&blocks[i]))
	}
	writeJSON(w, http.StatusOK, list)
}

func block(b *kvindex.BlockView) blockEntry {
	out := blockEntry{
		Hash: fmt.Sprintf("%016x", b.Hash), Depth: b.Depth, BlockSize: b.BlockSize, Bigram: b.Bigram, Leaf: b.Leaf, Holders: []holderEntry{},
	}
	if b.Parent != 0 {
		out.Parent = fmt.Sprintf("%016x", b.Parent)
	}
	for _, h := range b.Holders {
		entry := holderEntry{Worker: h.Owner.Worker, Rank: h.Owner.Rank, Group: h.Group, Tiers: []string{}}
		for i, name := range []string{"device", "host", "disk", "external"} {
			if h.Tiers&(1<<i) != 0 {
				entry.Tiers = append(entry.Tiers, name)
			}
		}
		out.Holders = append(out.Holders, entry)
	}
	return out
}
