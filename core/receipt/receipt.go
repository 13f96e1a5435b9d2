// Package receipt is the record of one routing decision: which buckets were
// tried, what became of each, and which engine was chosen by what observation.
//
// A Summary is a plain value of fixed size, so that keeping one per request
// costs no allocation.
package receipt

import (
	"strconv"

	"github.com/pointsman/pointsman/core"
)

// MaxTries bounds the buckets a summary keeps; later ones are counted only.
const MaxTries = 8

// MaxCandidates bounds the candidates a summary keeps of the chosen group.
const MaxCandidates = 8

// Source says where a prompt length came from.
type Source uint8

// The sources of a prompt length.
const (
	SourceEstimate      Source = iota // a quarter of the body's bytes
	SourceContentLength               // a quarter of the announced length; the body was not seen
	SourceUnknown                     // neither body nor length was seen; Summary.Input means nothing
	SourceTokenIDs                    // counted: the client sent token ids
	SourceTokenizer                   // counted by the state service
)

func (s Source) String() string {
	switch s {
	case SourceContentLength:
		return "content-length"
	case SourceUnknown:
		return "unknown"
	case SourceTokenIDs:
		return "token ids"
	case SourceTokenizer:
		return "tokenizer"
	case SourceEstimate:
	}
	return "estimate"
}

// Verdict is what became of one bucket.
type Verdict uint8

// The verdicts.
const (
	VerdictPicked Verdict = iota
	VerdictNoCandidates
	VerdictRejected
	VerdictFailed
)

// Try is one bucket's turn.
type Try struct {
	Bucket  string
	Verdict Verdict
	Stage   core.Stage     // where it failed
	First   core.Rejection // the first rejection, when rejected
	Refused int            // number of rejections
}

// Candidate is one engine the chosen group considered.
type Candidate struct {
	Worker    core.WorkerID
	Inflight  uint64
	ReportAge core.Count // milliseconds; unknown without a report
}

// Summary is the record of one request. The zero value is empty.
type Summary struct {
	Model  string
	Input  core.Tokens
	Source Source
	Peak   core.Count
	TTFT   core.Count // milliseconds to the first token that were asked for
	TPS    float64    // tokens per second that were asked for, 0 for none
	Code   string     // machine code of the answer when the request was refused

	Chosen core.WorkerID
	Bucket string
	Reason core.Reason
	// Matched is how many tokens of the prompt the chosen engine is known to hold;
	// unknown when its policy does not look at prefixes.
	Matched core.Count
	Prefix  Prefix // how Matched is known
	// Rank is the data-parallel rank that the engine is told to use, unknown for none.
	Rank   core.Count
	RankBy RankBy

	order      [MaxTries]string
	ordered    int // buckets in the order, those not kept included
	tries      [MaxTries]Try
	tried      int
	candidates [MaxCandidates]Candidate
	listed     int // candidates kept
	considered int // candidates in all
	detail     *detail
}

// Reset empties the summary. What its lists held stays there until it is written
// over, and is not shown.
func (s *Summary) Reset() {
	s.Model, s.Input, s.Source, s.Peak, s.TTFT, s.TPS, s.Code = "", 0, SourceEstimate, core.Count{}, core.Count{}, 0, ""
	s.Chosen, s.Bucket, s.Reason, s.Matched, s.Prefix = "", "", core.ReasonNone, core.Count{}, Prefix{}
	s.Rank, s.RankBy = core.Count{}, RankByPrefix
	s.ordered, s.tried, s.listed, s.considered, s.detail = 0, 0, 0, 0, nil
}

// Asked notes the service-level targets of the request; nil is no target.
func (s *Summary) Asked(ttftMillis *uint64, tokensPerSecond *float64) {
	if ttftMillis != nil {
		s.TTFT = core.Known(*ttftMillis)
	}
	if tokensPerSecond != nil {
		s.TPS = *tokensPerSecond
	}
}

// Ordered notes the next bucket of the order in which buckets are tried.
func (s *Summary) Ordered(bucket string) {
	if s.ordered < MaxTries {
		s.order[s.ordered] = bucket
	}
	s.ordered++
}

// Tried notes one bucket's turn.
func (s *Summary) Tried(t Try) {
	if s.tried < MaxTries {
		s.tries[s.tried] = t
	}
	s.tried++
}

// Tries gives the buckets kept and how many turns there were.
func (s *Summary) Tries() ([]Try, int) { return s.tries[:min(s.tried, MaxTries)], s.tried }

// Considered notes one candidate of the chosen group.
func (s *Summary) Considered(c Candidate) {
	if s.listed < MaxCandidates {
		s.candidates[s.listed] = c
		s.listed++
	}
	s.considered++
}

// Unlisted counts candidates of the chosen group that nobody observes for the
// record.
func (s *Summary) Unlisted(n int) { s.considered += n }

// Candidates gives the candidates kept and how many there were.
func (s *Summary) Candidates() ([]Candidate, int) {
	return s.candidates[:s.listed], s.considered
}

// Append appends the summary as one line of text, without a line break, and
// returns the result. What a client sent is quoted.
func (s *Summary) Append(b []byte) []byte {
	b = append(b, "model="...)
	b = strconv.AppendQuote(b, s.Model)
	b = s.appendInput(b)
	b = append(b, " peak="...)
	b = appendCount(b, s.Peak)
	b = s.appendTargets(b)
	b = s.appendOrder(b)
	for i, t := range s.tries[:min(s.tried, MaxTries)] {
		b = appendTry(b, t)
		b = s.appendVerdicts(b, i)
	}
	if s.tried > MaxTries {
		b = append(b, "; and "...)
		b = strconv.AppendInt(b, int64(s.tried-MaxTries), 10)
		b = append(b, " more buckets"...)
	}
	return s.appendResult(b)
}

// appendOrder writes the order of buckets where there was one to choose.
func (s *Summary) appendOrder(b []byte) []byte {
	if s.ordered < 2 {
		return b
	}
	for i, id := range s.order[:min(s.ordered, MaxTries)] {
		if i == 0 {
			b = append(b, "; order "...)
		} else {
			b = append(b, ", "...)
		}
		b = append(b, id...)
	}
	if s.ordered > MaxTries {
		b = append(b, ", ..."...)
	}
	return b
}

func (s *Summary) appendTargets(b []byte) []byte {
	if s.TTFT.Known {
		b = append(b, " ttft_slo_ms="...)
		b = strconv.AppendUint(b, s.TTFT.N, 10)
	}
	if s.TPS > 0 {
		b = append(b, " tps_slo="...)
		b = strconv.AppendFloat(b, s.TPS, 'g', -1, 64)
	}
	return b
}

func (s *Summary) appendInput(b []byte) []byte {
	b = append(b, " input="...)
	if s.Source == SourceUnknown {
		return append(b, "unknown"...)
	}
	b = strconv.AppendUint(b, s.Input, 10)
	b = append(b, " ("...)
	b = append(b, s.Source.String()...)
	return append(b, ')')
}

// Describe gives the summary as text.
func (s *Summary) Describe() string { return string(s.Append(nil)) }

func appendTry(b []byte, t Try) []byte {
	b = append(b, "; "...)
	b = append(b, t.Bucket...)
	switch t.Verdict {
	case VerdictPicked:
		return append(b, " picked"...)
	case VerdictNoCandidates:
		b = append(b, ' ')
		b = append(b, t.Stage.String()...)
		return append(b, " has no candidates"...)
	case VerdictRejected:
		b = append(b, ' ')
		b = append(b, t.Stage.String()...)
		b = append(b, " rejected "...)
		b = append(b, t.First.String()...)
		if t.Refused > 1 {
			b = append(b, " and "...)
			b = strconv.AppendInt(b, int64(t.Refused-1), 10)
			b = append(b, " more"...)
		}
		return b
	case VerdictFailed:
	}
	return append(b, " failed"...)
}

func (s *Summary) appendResult(b []byte) []byte {
	if s.Code != "" {
		b = append(b, "; answered "...)
		return append(b, s.Code...)
	}
	if s.Chosen == "" {
		return b
	}
	b = append(b, "; chose "...)
	b = append(b, s.Chosen...)
	b = append(b, " by "...)
	b = append(b, s.Reason.String()...)
	b = append(b, " of "...)
	b = strconv.AppendInt(b, int64(s.considered), 10)
	b = s.appendRank(s.appendPrefix(b))
	b = append(b, " ["...)
	for i, c := range s.candidates[:s.listed] {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = appendCandidate(b, c)
		b = s.appendLoad(b, i)
	}
	if s.considered > s.listed {
		b = append(b, ", ..."...)
	}
	return append(b, ']')
}

func appendCandidate(b []byte, c Candidate) []byte {
	b = append(b, c.Worker...)
	b = append(b, " in-flight "...)
	b = strconv.AppendUint(b, c.Inflight, 10)
	if !c.ReportAge.Known {
		return append(b, " no report"...)
	}
	b = append(b, " report "...)
	b = strconv.AppendUint(b, c.ReportAge.N, 10)
	return append(b, " ms old"...)
}

func appendCount(b []byte, c core.Count) []byte {
	if !c.Known {
		return append(b, "unknown"...)
	}
	return strconv.AppendUint(b, c.N, 10)
}
