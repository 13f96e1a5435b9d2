package server

// Outcome is one thing that became of a call or a part of one. They are a closed
// set, so that they can be labels.
type Outcome int

// Outcomes of calls, of the scopes and the prompt that an observe asks about, and
// of the proposals of a bind.
const (
	ObserveAnswered   Outcome = iota // with all that was asked for
	ObserveIncomplete                // something asked for is left out
	ObserveLate                      // the caller no longer waits
	ObserveRefused                   // not a request this service can read
	ObserveOverloaded                // every slot was taken

	ScopeBound
	ScopeNone
	ScopeUnavailable // the bindings could not be reached

	PromptComputed
	PromptJoined // another call's computation was under way
	PromptLate
	PromptFailed
	PromptOverloaded // too many looks are under way, those nobody waits for included
	PromptUnasked    // nothing here knows prompts

	BindAnswered
	BindUnavailable
	BindLate
	BindRefused
	BindOverloaded

	ProposalWon
	ProposalLost
	ProposalUnknownWorker
	ProposalNoRoom
	ProposalUnavailable

	StreamedTaken
	StreamedOverloaded
)

// Family is one counter with its label, outcome, for the people who read it.
type Family struct {
	Name    string // without namespace
	Meaning string
	From    Outcome // the first; the values of the label follow it in order
	Values  []string
}

// Families lists all outcomes.
func Families() []Family {
	return []Family{
		{"observes_total", "Calls of /v1/observe: answered in full; incomplete, with something asked for left out; late, after the caller's deadline; refused, as no request this service can read; overloaded, every slot taken.", ObserveAnswered, []string{"answered", "incomplete", "late", "refused", "overloaded"}},
		{"observed_scopes_total", "Scopes that observes asked about: bound to an engine, to none, or unavailable because the bindings could not be reached.", ScopeBound, []string{"bound", "none", "unavailable"}},
		{"observed_prompts_total", "Prompts that observes asked about: computed; joined, the answer of an identical call that was under way; late; failed; overloaded, with max_concurrent looks under way; unasked, as nothing in this service knows prompts.", PromptComputed, []string{"computed", "joined", "late", "failed", "overloaded", "unasked"}},
		{"binds_total", "Calls of /v1/bind: answered; unavailable, the bindings could not be reached; late, refused and overloaded as for observes.", BindAnswered, []string{"answered", "unavailable", "late", "refused", "overloaded"}},
		{"proposals_total", "Placements that binds proposed: won; lost to another engine; of an engine unknown here; without room in the store; unavailable.", ProposalWon, []string{"won", "lost", "unknown_worker", "no_room", "unavailable"}},
		{"streamed_calls_total", "Calls that came on a stream instead of by an HTTP request each, which count in the others as well: taken, or overloaded.", StreamedTaken, []string{"taken", "overloaded"}},
	}
}
