package claims

import (
	"github.com/pointsman/pointsman/statesvc/config"
)

// Source is who says that an engine is there.
type Source string

// The sources, highest rank first.
const (
	Static     Source = "static"
	File       Source = "file"
	HTTP       Source = "http"
	Kubernetes Source = "kubernetes"
	DNS        Source = "dns"
)

// Operator stands among those who drain a worker for an order over HTTP.
const Operator = "operator"

// Sources lists them by rank.
func Sources() []Source { return []Source{Static, File, HTTP, Kubernetes, DNS} }

// Claim is what one source says of one engine.
type Claim struct {
	// Worker says what is known, as the configuration would. Its Endpoint must be
	// filled in. Its ID is empty where the source has none for the engine.
	Worker config.Worker
	// Incarnation tells one life of whatever is at the address from the next: the UID of
	// a pod. Empty when the source cannot tell.
	Incarnation string
	// Unready: the source says that the engine is there and cannot take requests.
	Unready bool
}

// Worker is one engine as all sources together describe it.
type Worker struct {
	Config      config.Worker // its Draining is what sources and orders come to
	Incarnation string
	Unready     bool
	Sources     []Source // who names it, by rank
	DrainedBy   []string // who drains it: sources, or Operator
}

// Conflict is a claim that counts for nothing, and why.
type Conflict struct {
	Source  Source
	Address string
	Reason  string
}

// Sink takes what sources find out. Its methods are safe for concurrent use.
type Sink interface {
	// Say replaces everything the source said before and gives its claims that count
	// for nothing. The sink keeps the list.
	Say(source Source, list []Claim) []Conflict
	// Failed tells that the source could not find out; what it said before stays.
	Failed(source Source, err error)
}
