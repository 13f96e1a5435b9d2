package serving

// Outcome is what became of a query.
type Outcome int

// The outcomes.
const (
	Answered   Outcome = iota
	Overloaded         // every place was taken
	Expired            // its time was over, or the client had gone
	Refused            // it did not come, or could not be read
)

// outcomes counts them.
const outcomes = int(Refused) + 1

// String is the outcome's label in metrics.
func (o Outcome) String() string {
	return [...]string{"answered", "overloaded", "expired", "refused"}[o]
}

// Counts numbers the queries by outcome; all outcomes are in it.
func (s *Server) Counts() map[Outcome]uint64 {
	out := make(map[Outcome]uint64, outcomes)
	for i := range s.calls {
		out[Outcome(i)] = s.calls[i].Load()
	}
	return out
}
