package convert

import "strings"

// Fate says what becomes of a flag.
type Fate string

// Fates.
const (
	Converted Fate = "converted" // into keys of the filter configuration
	Refused   Fate = "refused"   // nothing here does what it asks for
	Outside   Fate = "outside"   // not a matter of routing: someone else's setting
)

// Flag is one flag of sgl-router. Values of the table are not to be changed.
type Flag struct {
	Name    string // with its dashes
	Value   string // what follows, like N or SECS; empty for a switch
	Default string // what holds without the flag; empty for nothing
	Rule    string // what values are good; empty for any
	Fate    Fate
	// To is, by fate, the key that is written, what to use instead, or whose
	// setting it is and what to do.
	To     string
	Reason string // why a flag is refused

	kind     kind
	good     func(float64) bool // for counts and numbers; nil for any
	choices  []string           // words that the flag takes; nil for any
	dropped  map[string]why     // choices that are refused
	policies []string           // upstream policies that read the flag; nil for no such limit
	needs    string             // flag without which this one has no effect
	attaches bool               // chooses or tunes policies, which --reorg-config does itself
}

// kind is how values of a flag are read.
type kind int

const (
	kindSwitch kind = iota
	kindText
	kindList // one value or more, and again
	kindCount
	kindNumber
)

// why is the reason of a refusal and what to use instead.
type why struct{ reason, instead string }

// Flags lists the flags that are known, in the order of engine-selection.md 18.
func Flags() []Flag {
	var all []Flag
	for _, section := range [][]Flag{
		serverFlags(), fleetFlags(), policyFlags(), cacheFlags(), sessionFlags(), laterFlags(), branchFlags(),
	} {
		all = append(all, section...)
	}
	return all
}

func atLeastOne(x float64) bool { return x >= 1 }

func share(x float64) bool { return x >= 0 && x <= 1 }

// bounds is the part of Rule that is about the value alone.
func (f *Flag) bounds() string {
	if end := strings.IndexAny(f.Rule, ",;"); end >= 0 {
		return f.Rule[:end]
	}
	return f.Rule
}
