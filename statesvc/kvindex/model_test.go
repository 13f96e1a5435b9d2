package kvindex_test

import (
	"fmt"
	"slices"

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
