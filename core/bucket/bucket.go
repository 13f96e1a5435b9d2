package bucket

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/pointsman/pointsman/core"
)

// Spec describes a bucket. A nil bound is no bound.
type Spec struct {
	ID         string
	Rank       uint32       // orders buckets of equal capacity, lowest first
	Min        *core.Tokens // least input, inclusive
	Max        *core.Tokens // most input, inclusive
	MaxContext *core.Tokens // most input and output together, inclusive
	// Estimates of what the bucket's engines achieve; nil is no estimate.
	TTFTMillis      *uint64  // time to first token
	TokensPerSecond *float64 // of one answer
	Groups          Groups
}

// Bucket serves requests of a range of lengths.
type Bucket struct {
	spec Spec
	// The bounds with their absence as the widest value.
	min, max, context core.Tokens
}

// New makes a bucket, or lists everything that is wrong with it: joined
// *core.ConfigErrors (engine-selection.md 2.6 and 2.7).
func New(spec Spec) (*Bucket, error) {
	var problems []error
	for _, detail := range spec.problems() {
		problems = append(problems, &core.ConfigError{Detail: fmt.Sprintf("bucket %q: %s", spec.ID, detail)})
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	return &Bucket{
		spec:    spec,
		min:     bound(spec.Min, 0),
		max:     bound(spec.Max, math.MaxUint64),
		context: bound(spec.MaxContext, math.MaxUint64),
	}, nil
}

func bound(limit *core.Tokens, absent core.Tokens) core.Tokens {
	if limit == nil {
		return absent
	}
	return *limit
}

func (s Spec) problems() []string {
	var found []string
	if strings.TrimSpace(s.ID) == "" {
		found = append(found, "the id is blank")
	}
	if s.Min != nil && s.Max != nil && *s.Min > *s.Max {
		found = append(found, fmt.Sprintf("min %d is above max %d", *s.Min, *s.Max))
	}
	if s.MaxContext != nil && *s.MaxContext == 0 {
		found = append(found, "a max context of 0 takes no request; leave it out for no bound")
	} else if s.Min != nil && s.MaxContext != nil && *s.Min > *s.MaxContext {
		found = append(found, fmt.Sprintf("min %d is above max context %d", *s.Min, *s.MaxContext))
	}
	if s.TTFTMillis != nil && *s.TTFTMillis == 0 {
		found = append(found, "a time to first token of 0 ms is no estimate; leave it out for none")
	}
	if s.TokensPerSecond != nil && !positive(*s.TokensPerSecond) {
		found = append(found, fmt.Sprintf("%v tokens per second is no estimate; leave it out for none", *s.TokensPerSecond))
	}
	if s.Groups == nil {
		return append(found, "no engine groups")
	}
	for _, g := range s.Groups.engineGroups() {
		for _, detail := range g.problems() {
			found = append(found, g.Stage().String()+": "+detail)
		}
	}
	return found
}

// ID names the bucket.
func (b *Bucket) ID() string { return b.spec.ID }

// Spec is what the bucket was made of.
func (b *Bucket) Spec() Spec { return b.spec }

// Bounded reports whether the bucket looks at the length of a request at all.
func (b *Bucket) Bounded() bool {
	return b.spec.Min != nil || b.spec.Max != nil || b.spec.MaxContext != nil
}

// EngineGroups lists the bucket's groups: plain, or prefill and decode.
func (b *Bucket) EngineGroups() []*EngineGroup { return slices.Clone(b.spec.Groups.engineGroups()) }

// Pick asks the bucket's groups for a complete selection. Its error tells
// through core.Advance whether the next bucket may be tried.
func (b *Bucket) Pick(registry Registry, req *core.BucketRequest) (Selection, error) {
	return b.spec.Groups.pick(registry, b.spec.ID, req, Selection{})
}

// Resume completes a selection of this bucket that lacks a pick
// (Selection.Without). The pick it has is kept, except that a decode engine of
// another version group than the prefill engine's is picked again, and that a
// prefill engine which no decode engine of its group can join gives way. Whether
// a kept engine is still there is for the caller to know.
func (b *Bucket) Resume(registry Registry, req *core.BucketRequest, kept Selection) (Selection, error) {
	return b.spec.Groups.pick(registry, b.spec.ID, req, kept)
}

// takes reports whether the bucket serves an input whose context needs need
// tokens.
func (b *Bucket) takes(input, need core.Tokens) bool {
	return b.min <= input && input <= b.max && need <= b.context
}

// capacity is the most input the bucket serves.
func (b *Bucket) capacity() core.Tokens { return min(b.max, b.context) }
