package bucket

import (
	"fmt"
	"math"

	"github.com/pointsman/pointsman/core"
)

// Preference says how buckets are ordered by whether their estimate meets a
// request's target. None of them takes a bucket off the list.
type Preference uint8

// The preferences (engine-selection.md 2.2).
const (
	PreferenceDisabled   Preference = iota // targets are ignored
	PreferenceSLOFirst                     // buckets that meet the target come first
	PreferenceBestEffort                   // buckets that meet it are kept for last
)

// ParsePreference reads a preference's name in configuration; none is disabled.
func ParsePreference(name string) (Preference, bool) {
	switch name {
	case "", "disabled":
		return PreferenceDisabled, true
	case "slo_first":
		return PreferenceSLOFirst, true
	case "best_effort":
		return PreferenceBestEffort, true
	}
	return PreferenceDisabled, false
}

// Preferences order the buckets of a resolver by service-level targets.
type Preferences struct {
	TTFT Preference // time to first token
	TPS  Preference // tokens per second
}

// Targets are what a request asks for; nil is no target.
type Targets struct {
	TTFTMillis      *uint64
	TokensPerSecond *float64
}

// check refuses targets that make no sense, where they are looked at.
func (p Preferences) check(t Targets) error {
	if p.TTFT != PreferenceDisabled && t.TTFTMillis != nil && *t.TTFTMillis == 0 {
		return &core.InvalidSignalError{Detail: "a time to first token of 0 ms cannot be met"}
	}
	if p.TPS != PreferenceDisabled && t.TokensPerSecond != nil && !positive(*t.TokensPerSecond) {
		return &core.InvalidSignalError{Detail: fmt.Sprintf("%v tokens per second is no rate", *t.TokensPerSecond)}
	}
	return nil
}

// penalty is how many preferences put the bucket behind others. Without an
// estimate a bucket does not meet a target.
func (p Preferences) penalty(b *Bucket, t Targets) (n int) {
	ttft, tps := b.spec.TTFTMillis, b.spec.TokensPerSecond
	if t.TTFTMillis != nil {
		n += p.TTFT.penalty(ttft != nil && *ttft <= *t.TTFTMillis)
	}
	if t.TokensPerSecond != nil {
		n += p.TPS.penalty(tps != nil && *tps >= *t.TokensPerSecond)
	}
	return n
}

// worst is the largest penalty that a target can have.
func (p Preferences) worst(t Targets) (n int) {
	if t.TTFTMillis != nil && p.TTFT != PreferenceDisabled {
		n++
	}
	if t.TokensPerSecond != nil && p.TPS != PreferenceDisabled {
		n++
	}
	return n
}

func (p Preference) penalty(met bool) int {
	if (p == PreferenceSLOFirst && !met) || (p == PreferenceBestEffort && met) {
		return 1
	}
	return 0
}

func positive(rate float64) bool { return rate > 0 && !math.IsInf(rate, 0) }
