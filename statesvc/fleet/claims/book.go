package claims

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/statesvc/config"
)

// Book holds what every source says. The zero value is empty. It is not safe for
// concurrent use.
type Book struct {
	said   map[Source][]Claim
	orders map[string]bool // IDs that an operator drains
}

// Say replaces everything the source said before. The book keeps the list.
func (b *Book) Say(source Source, list []Claim) {
	if b.said == nil {
		b.said = map[Source][]Claim{}
	}
	b.said[source] = list
}

// Order replaces the IDs of the workers that an operator drains.
func (b *Book) Order(drained []string) {
	b.orders = make(map[string]bool, len(drained))
	for _, id := range drained {
		b.orders[id] = true
	}
}

// Merge gives the workers by ID and the claims that count for nothing. It shares no
// list with what it gave before.
func (b *Book) Merge() ([]Worker, []Conflict) {
	m := merging{at: map[string]*Worker{}}
	for _, source := range Sources() {
		for i := range b.said[source] {
			m.fold(source, &b.said[source][i])
		}
	}
	return m.settle(b.orders)
}

type merging struct {
	at        map[string]*Worker // by address
	order     []*Worker          // as they were first named, so by rank
	conflicts []Conflict
}

// fold takes a claim in. Claims come by rank, so what is there already counts more.
func (m *merging) fold(source Source, c *Claim) {
	address := c.Worker.Endpoint.HostPort()
	w := m.at[address]
	switch {
	case w == nil && len(m.order) >= config.MaxWorkers:
		m.conflict(source, address, fmt.Sprintf("there are %d workers already; that is the most", config.MaxWorkers))
		return
	case w == nil:
		w = &Worker{Config: c.Worker}
		w.Config.Services = slices.Clone(c.Worker.Services)
		m.at[address] = w
		m.order = append(m.order, w)
	case w.Sources[len(w.Sources)-1] == source:
		m.conflict(source, address, "the source names the address twice; the first entry counts")
		return
	default:
		fill(&w.Config, &c.Worker)
	}
	w.Sources = append(w.Sources, source)
	w.Unready = w.Unready || c.Unready
	if w.Incarnation == "" {
		w.Incarnation = c.Incarnation
	}
	if c.Worker.Draining {
		w.DrainedBy = append(w.DrainedBy, string(source))
	}
}

func (m *merging) conflict(source Source, address, reason string) {
	m.conflicts = append(m.conflicts, Conflict{source, address, reason})
}

// fill takes over what only the lower rank says.
func fill(to, from *config.Worker) {
	if to.ID == "" {
		to.ID = from.ID
	}
	if len(to.Models) == 0 {
		to.Models = from.Models
	}
	if to.Role == "" {
		to.Role = from.Role
	}
	if to.VersionGroup == "" && to.Stage() != core.StagePlain {
		to.VersionGroup = from.VersionGroup
	}
	if to.Health == (config.WorkerHealth{}) {
		to.Health = from.Health
	}
	if to.Metrics == (config.WorkerMetrics{}) {
		to.Metrics = from.Metrics
	}
	if to.KV == (config.WorkerKV{}) {
		to.KV = from.KV
	}
	for _, s := range from.Services {
		if !slices.Contains(to.Services, s) {
			to.Services = append(to.Services, s)
		}
	}
}

// settle gives every worker its ID and leaves out those whose ID is taken.
func (m *merging) settle(orders map[string]bool) ([]Worker, []Conflict) {
	byID := make(map[string]*Worker, len(m.order))
	for _, w := range m.order {
		address := w.Config.Endpoint.HostPort()
		if w.Config.ID == "" {
			w.Config.ID = address
		}
		id := w.Config.ID
		if other := byID[id]; other != nil {
			for _, source := range w.Sources {
				m.conflict(source, address, fmt.Sprintf("the id %q is that of %s (%s)", id, other.Config.Endpoint.HostPort(), other.Sources[0]))
			}
			continue
		}
		if orders[id] {
			w.DrainedBy = append(w.DrainedBy, Operator)
		}
		w.Config.Draining = len(w.DrainedBy) > 0
		byID[id] = w
	}
	list := make([]Worker, 0, len(byID))
	for _, id := range slices.SortedFunc(maps.Keys(byID), strings.Compare) {
		list = append(list, *byID[id])
	}
	return list, m.conflicts
}
