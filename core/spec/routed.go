package spec

import (
	"slices"
	"strings"

	"github.com/pointsman/pointsman/core/bucket"
	"github.com/pointsman/pointsman/core/sampling"
)

// routed is a model of the configuration with all that its requests need.
type routed struct {
	name     string
	resolver *bucket.Resolver
	needs    ModelNeeds
	contract *sampling.Contract // nil for none
}

// named is a name that a model is asked for by: its own or an alias.
type named struct {
	name  string
	model *routed
}

// directory finds models by name. It compares names instead of hashing them: a
// configuration has few, and in a filter, which runs cold, what a request costs is
// the code it runs, of which a map has much.
type directory []named // sorted by name

// find gives the entry of a name, nil when there is none.
func (d directory) find(name string) *named {
	low, high := 0, len(d)
	for low < high {
		middle := int(uint(low+high) / 2)
		switch found := d[middle].name; {
		case found == name:
			return &d[middle]
		case found < name:
			low = middle + 1
		default:
			high = middle
		}
	}
	return nil
}

// sort readies a list for find.
func (d directory) sort() {
	slices.SortFunc(d, func(a, b named) int { return strings.Compare(a.name, b.name) })
}

// names lists the names, sorted.
func (d directory) names() []string {
	list := make([]string, 0, len(d))
	for _, n := range d {
		list = append(list, n.name)
	}
	return list
}
