package receipt

import (
	"strconv"

	"github.com/pointsman/pointsman/core"
)

// Certainty says how sure it is that an engine holds what it is taken to hold.
type Certainty uint8

// The certainties.
const (
	CertaintyTold      Certainty = iota // its own events say so; by history: it was sent there
	CertaintyUncertain                  // its events have gaps: it may hold less
	CertaintyPending                    // it was sent there a moment ago, and the engine has not told of it yet
)

// Prefix says by what an engine's part of the prompt is known.
type Prefix struct {
	Source    string // that was asked; empty when the policy does not look at prefixes
	Certainty Certainty
	// Age is the milliseconds since the source last learned of the engine's cache, or of
	// any where the engine holds nothing; unknown where it does not say.
	Age core.Count
	// Device is how many of the tokens the engine has in device memory, where it has the
	// others in a slower tier; unknown where all are there, or nobody says.
	Device core.Count
	// Unavailable says that nobody could be asked, Why for what reason.
	Unavailable bool
	Why         string
}

// appendPrefix writes what the chosen engine holds of the prompt.
func (s *Summary) appendPrefix(b []byte) []byte {
	p := &s.Prefix
	switch {
	case p.Unavailable:
		b = append(b, ", "...)
		b = append(b, p.Source...)
		b = append(b, " unavailable"...)
		if p.Why != "" {
			b = append(b, ": "...)
			b = strconv.AppendQuote(b, p.Why)
		}
		return b
	case !s.Matched.Known:
		return b
	}
	b = append(b, ", holding "...)
	b = strconv.AppendUint(b, s.Matched.N, 10)
	b = append(b, " tokens"...)
	if p.Device.Known {
		b = append(b, " ("...)
		b = strconv.AppendUint(b, p.Device.N, 10)
		b = append(b, " on the device)"...)
	}
	if p.Source == "" {
		return b
	}
	b = append(b, " by "...)
	b = append(b, p.Source...)
	if p.Age.Known {
		b = append(b, ", "...)
		b = strconv.AppendUint(b, p.Age.N, 10)
		b = append(b, " ms old"...)
	}
	switch p.Certainty {
	case CertaintyUncertain:
		b = append(b, ", uncertain"...)
	case CertaintyPending:
		b = append(b, ", pending"...)
	case CertaintyTold:
	}
	return b
}

// RankBy says by what a data-parallel rank was chosen.
type RankBy uint8

// What ranks are chosen by.
const (
	RankByPrefix RankBy = iota // it holds the prefix
	RankByKey                  // of the routing key or the session
	RankByLoad                 // fewest requests in flight
)

// appendRank writes which rank the engine is told to use.
func (s *Summary) appendRank(b []byte) []byte {
	if !s.Rank.Known {
		return b
	}
	b = append(b, ", rank "...)
	b = strconv.AppendUint(b, s.Rank.N, 10)
	switch s.RankBy {
	case RankByKey:
		b = append(b, " by key"...)
	case RankByLoad:
		b = append(b, " by load"...)
	case RankByPrefix:
	}
	return b
}
