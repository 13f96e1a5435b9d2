package kvindex_test

import (
	"fmt"
	"hash/fnv"
	"strings"

	"github.com/pointsman/pointsman/statesvc/kvevents"
	"github.com/pointsman/pointsman/statesvc/kvindex"
)

// tiers is where a group has a content, over all its names.
func (g *modelGroup) tiers(content string) (bits uint8) {
	for _, list := range g.names {
		for _, r := range list {
			if r.content == content {
				bits |= r.tiers()
			}
		}
	}
	return bits
}

func (g *modelGroup) unplaced() bool {
	for _, list := range g.names {
		for _, r := range list {
			if r.content == "" {
				return true
			}
		}
	}
	return false
}

// match answers with each owner's candidates of the most tokens, one per shape.
func (m *model) match(p kvindex.Prompt) map[kvindex.Owner][]kvindex.Match {
	out := map[kvindex.Owner][]kvindex.Match{}
	for o := range m.owners {
		for _, size := range []uint32{1, 2, 3} {
			for _, bigram := range []bool{false, true} {
				c, ok := m.depth(o, p, size, bigram)
				if !ok {
					continue
				}
				if list := out[o]; len(list) > 0 && list[0].Tokens > c.Tokens {
					continue
				} else if len(list) > 0 && list[0].Tokens < c.Tokens {
					out[o] = nil
				}
				out[o] = append(out[o], c)
			}
		}
	}
	return out
}

func (m *model) depth(o kvindex.Owner, p kvindex.Prompt, size uint32, bigram bool) (kvindex.Match, bool) {
	contents := promptTexts(p, size, bigram)
	c := kvindex.Match{Owner: o, BlockSize: int(size), Certain: true}
	within, first := [4]int{}, true
	var sparse []*modelGroup
	for _, g := range m.owners[o] {
		if g.sparse {
			sparse = append(sparse, g)
			c.Certain = c.Certain && g.window > 0 && !g.unplaced()
		}
		if g.sparse || !g.chained {
			continue
		}
		mine := leading(g, contents)
		for t := range mine {
			if first || mine[t] < within[t] {
				within[t] = mine[t]
			}
		}
		first = false
	}
	c.AtMost, c.Within = within[3], within
	c.Blocks = c.AtMost
	for c.Blocks > 0 && !windowsFilled(sparse, contents, c.Blocks, int(size)) {
		c.Blocks--
	}
	if len(sparse) > 0 {
		c.Certain = c.Certain || c.Blocks == c.AtMost
	}
	for t := range c.Within {
		c.Within[t] = min(c.Within[t], c.Blocks)
	}
	c.Tokens = c.Blocks * int(size)
	return c, c.AtMost > 0
}

func windowsFilled(groups []*modelGroup, contents []string, depth, size int) bool {
	for _, g := range groups {
		need := depth
		if g.window > 0 {
			need = min(depth, (int(g.window)-1+size-1)/size)
		}
		// Where nothing need be in the window, the last block need not either; but a
		// depth beyond all runs has never been seen held.
		for i := depth - max(need, 1); i < depth; i++ {
			if g.tiers(contents[i]) == 0 {
				return false
			}
		}
	}
	return true
}

func leading(g *modelGroup, contents []string) (within [4]int) {
	for t := range within {
		for _, c := range contents {
			if g.tiers(c)&(1<<(t+1)-1) == 0 {
				break
			}
			within[t]++
		}
	}
	return within
}

func promptTexts(p kvindex.Prompt, size uint32, bigram bool) []string {
	var list []string
	at := rootText(size, bigram, p.Salt, p.LoRA)
	for i := range max(len(p.Tokens)-1, 0) / int(size) {
		at = blockText(at, unitsOf(p.Tokens, i*int(size), int(size), bigram), 0)
		list = append(list, at)
	}
	return list
}

// unitsOf is the numbers of an event for units of a prompt.
func unitsOf(tokens []uint32, from, count int, bigram bool) []uint32 {
	if !bigram {
		return tokens[from : from+count]
	}
	var list []uint32
	for i := from; i < from+count; i++ {
		list = append(list, tokens[i], tokens[i+1])
	}
	return list
}

// nameOf is an engine's hash of a content. Engines named "collapsed" leave the
// namespace out.
func nameOf(o kvindex.Owner, content string) kvevents.Hash {
	if strings.HasPrefix(o.Worker, "collapsed") {
		parts := strings.SplitN(content, "|", 4)
		content = parts[0] + parts[len(parts)-1]
	}
	h := fnv.New64a()
	fmt.Fprint(h, o.Worker, content)
	return kvevents.Hash(h.Sum64())
}
