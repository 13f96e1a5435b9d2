package kvindex_test

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/pointsman/pointsman/statesvc/kvevents"
	"github.com/pointsman/pointsman/statesvc/kvindex"
)

// model is the naive index: lists of records, contents as text, nothing shared.
type model struct {
	owners    map[kvindex.Owner]map[uint32]*modelGroup
	maxCopies uint8
}

type modelGroup struct {
	chained, sparse bool
	window          uint32
	names           map[kvevents.Hash][]*record
	order           uint32
}

// record is one content under one name. Its content is empty when nothing places it.
type record struct {
	content string
	shape   string
	copies  [4]uint8
}

func (r *record) tiers() (bits uint8) {
	for t, n := range r.copies {
		if n > 0 {
			bits |= 1 << t
		}
	}
	return bits
}

func newModel(maxCopies uint8) *model {
	return &model{owners: map[kvindex.Owner]map[uint32]*modelGroup{}, maxCopies: maxCopies}
}

func shapeText(size uint32, bigram bool) string { return fmt.Sprintf("%d/%v", size, bigram) }

func rootText(size uint32, bigram bool, salt, lora string) string {
	return fmt.Sprintf("%s|%q|%q", shapeText(size, bigram), salt, lora)
}

func blockText(parent string, tokens []uint32, extra uint64) string {
	return fmt.Sprintf("%s|%v+%d", parent, tokens, extra)
}

func tierIndex(t kvevents.Tier) int { return int(t) - int(kvevents.TierDevice) }

func (m *model) apply(o kvindex.Owner, e *kvevents.Event) {
	switch e.Kind {
	case kvevents.KindStored:
		m.store(o, e)
	case kvevents.KindRemoved:
		m.remove(o, e)
	case kvevents.KindCleared:
		for _, g := range m.owners[o] {
			g.names = map[kvevents.Hash][]*record{}
		}
	case kvevents.KindNone:
	}
}

func (m *model) reset(o kvindex.Owner) { delete(m.owners, o) }

func (m *model) removeWorker(worker string) {
	for o := range m.owners {
		if o.Worker == worker {
			delete(m.owners, o)
		}
	}
}

func (m *model) group(o kvindex.Owner, id uint32) *modelGroup {
	if m.owners[o] == nil {
		m.owners[o] = map[uint32]*modelGroup{}
	}
	g := m.owners[o][id]
	if g == nil {
		g = &modelGroup{names: map[kvevents.Hash][]*record{}, order: uint32(len(m.owners[o]))}
		m.owners[o][id] = g
	}
	return g
}

func (m *model) inOrder(o kvindex.Owner) []*modelGroup {
	var list []*modelGroup
	for _, g := range m.owners[o] {
		list = append(list, g)
	}
	slices.SortFunc(list, func(a, b *modelGroup) int { return int(a.order) - int(b.order) })
	return list
}

func (m *model) store(o kvindex.Owner, e *kvevents.Event) {
	tier := e.Tier
	if tier == kvevents.TierNone {
		tier = kvevents.TierDevice
	}
	if tier == kvevents.TierUnknown {
		if m.owners[o] == nil {
			m.owners[o] = map[uint32]*modelGroup{}
		}
		return
	}
	if len(e.Tokens) == 0 && e.Window == 0 {
		for _, name := range e.Hashes {
			g := m.knower(o, e.Group, name)
			if g == nil {
				g = m.group(o, e.Group)
			}
			m.byName(o, g, name, tierIndex(tier))
		}
		return
	}
	g := m.group(o, e.Group)
	if e.Window > 0 {
		g.window, g.sparse = e.Window, true
	}
	parent, ok := m.parent(o, g, e)
	if !ok {
		for _, name := range e.Hashes {
			m.byName(o, g, name, tierIndex(tier))
		}
		return
	}
	if len(e.Hashes) > 0 {
		g.chained = true
	}
	per := len(e.Tokens) / max(len(e.Hashes), 1)
	for i, name := range e.Hashes {
		var extra uint64
		if i < len(e.Extra) {
			extra = e.Extra[i]
		}
		parent = blockText(parent, e.Tokens[i*per:(i+1)*per], extra)
		m.add(o, g, name, parent, shapeText(e.BlockSize, e.Bigram), tierIndex(tier))
	}
}

func (m *model) parent(o kvindex.Owner, g *modelGroup, e *kvevents.Event) (string, bool) {
	if g.sparse {
		return "", false
	}
	if e.Units() != len(e.Hashes)*int(e.BlockSize) {
		g.sparse = !g.chained && len(e.Hashes) < e.Units()/int(e.BlockSize)
		return "", false
	}
	if !e.HasParent {
		return rootText(e.BlockSize, e.Bigram, e.Salt, e.LoRA), true
	}
	if len(e.Hashes) == 0 {
		return "", true
	}
	r := m.resolve(o, g, e.Parent)
	if r == nil || len(g.names[e.Parent]) > 1 || r.shape != shapeText(e.BlockSize, e.Bigram) {
		return "", false
	}
	return r.content, true
}

func (m *model) resolve(o kvindex.Owner, g *modelGroup, name kvevents.Hash) *record {
	if list := g.names[name]; len(list) > 0 && list[0].content != "" {
		return list[0]
	}
	for _, sibling := range m.inOrder(o) {
		if list := sibling.names[name]; len(list) == 1 && list[0].content != "" {
			return list[0]
		}
	}
	return nil
}

func (m *model) knower(o kvindex.Owner, group uint32, name kvevents.Hash) *modelGroup {
	if g := m.owners[o][group]; g != nil {
		return g
	}
	list := m.inOrder(o)
	for _, g := range list {
		if len(g.names[name]) > 0 {
			return g
		}
	}
	if len(list) > 0 {
		return list[0]
	}
	return nil
}

func (m *model) byName(o kvindex.Owner, g *modelGroup, name kvevents.Hash, tier int) {
	if r := m.resolve(o, g, name); r != nil {
		m.add(o, g, name, r.content, r.shape, tier)
		return
	}
	if len(g.names[name]) == 0 {
		g.names[name] = []*record{{}}
	}
	m.count(g.names[name][0], tier)
}

func (m *model) count(r *record, tier int) {
	if r.copies[tier] < m.maxCopies {
		r.copies[tier]++
	}
}

func (m *model) add(o kvindex.Owner, g *modelGroup, name kvevents.Hash, content, shape string, tier int) {
	for _, r := range g.names[name] {
		if r.content == content {
			m.count(r, tier)
			return
		}
	}
	if list := g.names[name]; len(list) == 1 && list[0].content == "" {
		list[0].content, list[0].shape = content, shape
		m.count(list[0], tier)
	} else {
		r := &record{content: content, shape: shape}
		m.count(r, tier)
		g.names[name] = append(list, r)
	}
	for _, sibling := range m.owners[o] {
		if list := sibling.names[name]; len(list) == 1 && list[0].content == "" {
			list[0].content, list[0].shape = content, shape
		}
	}
}

func (m *model) remove(o kvindex.Owner, e *kvevents.Event) {
	for _, name := range e.Hashes {
		g := m.knower(o, e.Group, name)
		if g == nil {
			continue
		}
		for t := range 4 {
			if e.Tier == kvevents.TierNone || e.Tier == kvevents.TierUnknown || tierIndex(e.Tier) == t {
				g.take(name, t)
			}
		}
	}
}

func (g *modelGroup) take(name kvevents.Hash, tier int) {
	list := g.names[name]
	for i, r := range list {
		if r.copies[tier] == 0 {
			continue
		}
		if r.copies[tier]--; r.tiers() == 0 {
			g.names[name] = slices.Delete(list, i, i+1)
		}
		if len(g.names[name]) == 0 {
			delete(g.names, name)
		}
		return
	}
}

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
