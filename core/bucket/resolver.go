package bucket

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/pointsman/pointsman/core"
)

// Resolver orders the buckets of a model. It looks at lengths and targets only,
// never at engines.
type Resolver struct {
	buckets     []*Bucket // by capacity, rank, ID
	preferences Preferences
	matched     []*Bucket // of the last Resolve
}

// NewResolver makes a resolver of buckets with distinct IDs, in any order. It
// lists everything that is wrong as joined *core.ConfigErrors.
func NewResolver(buckets []*Bucket, preferences Preferences) (*Resolver, error) {
	if err := checkBuckets(buckets); err != nil {
		return nil, err
	}
	ordered := slices.Clone(buckets)
	slices.SortFunc(ordered, func(a, b *Bucket) int {
		return cmp.Or(
			cmp.Compare(a.capacity(), b.capacity()),
			cmp.Compare(a.spec.Rank, b.spec.Rank),
			cmp.Compare(a.spec.ID, b.spec.ID),
		)
	})
	return &Resolver{buckets: ordered, preferences: preferences, matched: make([]*Bucket, 0, len(ordered))}, nil
}

func checkBuckets(buckets []*Bucket) error {
	if len(buckets) == 0 {
		return &core.ConfigError{Detail: "no buckets"}
	}
	var problems []error
	count := map[string]int{}
	for i, b := range buckets {
		if b == nil {
			problems = append(problems, &core.ConfigError{Detail: fmt.Sprintf("bucket %d is missing", i)})
			continue
		}
		if count[b.spec.ID]++; count[b.spec.ID] == 2 {
			problems = append(problems, &core.ConfigError{Detail: fmt.Sprintf("bucket id %q is not unique", b.spec.ID)})
		}
	}
	return errors.Join(problems...)
}

// Preferences are what the resolver was made with.
func (r *Resolver) Preferences() Preferences { return r.preferences }

// Buckets lists all buckets in the order Resolve tries them without targets.
func (r *Resolver) Buckets() []*Bucket { return slices.Clone(r.buckets) }

// Resolve lists the buckets that take a request, in order of what the preferences
// hold against them, capacity, rank and ID (engine-selection.md 2.2); the list may
// be empty. A known peak is what the context must hold, else the input is. A known
// peak below the input, or a target that no engine can meet, is a
// *core.InvalidSignalError.
//
// The list is valid until the next Resolve. A request that is suspended while
// others resolve uses AppendResolved.
func (r *Resolver) Resolve(input core.Tokens, peak core.Count, targets Targets) ([]*Bucket, error) {
	matched, err := r.AppendResolved(r.matched[:0], input, peak, targets)
	if err != nil {
		return nil, err
	}
	r.matched = matched
	return matched, nil
}

// AppendResolved is Resolve into a list of the caller's.
func (r *Resolver) AppendResolved(list []*Bucket, input core.Tokens, peak core.Count, targets Targets) ([]*Bucket, error) {
	need := input
	if peak.Known {
		if peak.N < input {
			return list, &core.InvalidSignalError{Detail: fmt.Sprintf("peak of %d tokens is below the input of %d", peak.N, input)}
		}
		need = peak.N
	}
	if err := r.preferences.check(targets); err != nil {
		return list, err
	}
	for penalty := range 1 + r.preferences.worst(targets) {
		for _, b := range r.buckets {
			if b.takes(input, need) && r.preferences.penalty(b, targets) == penalty {
				list = append(list, b)
			}
		}
	}
	return list, nil
}
