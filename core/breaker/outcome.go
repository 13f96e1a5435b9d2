package breaker

// Outcome is what a finished dispatch says of its engine.
type Outcome uint8

// The outcomes.
const (
	// Success clears the failure streak and closes the breaker after a probe.
	Success Outcome = iota + 1
	// Failure extends the streak; it opens the breaker at the threshold, and a
	// probe's failure reopens it.
	Failure
	// Neutral is back-pressure: the engine answers but takes no more. It leaves
	// the streak as it is and closes the breaker after a probe (field report
	// B02), so that one more failure opens it again.
	Neutral
	// Cancelled says nothing of the engine. It only gives a probe's place back.
	Cancelled
)

// String gives the outcome's name in metrics and receipts.
func (o Outcome) String() string {
	switch o {
	case Success:
		return "success"
	case Failure:
		return "failure"
	case Neutral:
		return "neutral"
	case Cancelled:
		return "cancelled"
	}
	return "none"
}

// OutcomeOf classes an HTTP response status. 429 and 503 are back-pressure;
// other client errors are the client's and show an engine that answers (field
// report B01). A status outside 200 to 499 that is not back-pressure, 0 for no
// response included, is a failure.
func OutcomeOf(status int) Outcome {
	switch {
	case status == 429 || status == 503:
		return Neutral
	case status >= 200 && status < 500:
		return Success
	}
	return Failure
}
