package core

import (
	"cmp"
	"slices"
)

// WorkerID names a worker for as long as it stays in the fleet. It is stable
// across restarts of the engine behind it.
type WorkerID string

// Instant is a point on the caller's clock in milliseconds. Only differences
// have meaning; the zero point is the caller's.
type Instant int64

// Tokens counts tokens of a model's vocabulary.
type Tokens = uint64

// Stage is the role an engine plays for one request. The zero value is none.
type Stage uint8

// The stages (POLICY_DESIGN section 2).
const (
	StageNone Stage = iota
	StagePlain
	StagePrefill
	StageDecode
)

// String gives the stage's name in configuration, messages and metrics.
func (s Stage) String() string {
	switch s {
	case StagePlain:
		return "plain"
	case StagePrefill:
		return "prefill"
	case StageDecode:
		return "decode"
	case StageNone:
		return "none"
	}
	return "none"
}

// ParseStage reads a stage name. The empty string is plain, the role of an
// engine that says nothing about disaggregation.
func ParseStage(name string) (Stage, bool) {
	switch name {
	case "", "plain":
		return StagePlain, true
	case "prefill":
		return StagePrefill, true
	case "decode":
		return StageDecode, true
	}
	return StageNone, false
}

// Adapter is a LoRA adapter that a worker serves under its own model name.
type Adapter struct {
	Name string // the model name a client asks for
	Base string // the model the adapter was trained on
}

// Worker describes one engine. A Worker is immutable: a changed engine is a new
// object, so that pointer identity tells a live member from a former one with
// the same ID (invariant I1).
type Worker struct {
	ID       WorkerID
	Address  string   // literal ip:port, [ip]:port for IPv6
	Models   []string // names the engine serves, adapters apart
	Adapters []Adapter
	Stage    Stage
	// Version is the engine's version group, the label version_group: a prefill
	// engine pairs with decode engines of its own group only. Engines without the
	// label are a group too (engine-selection.md 2.5).
	Version string
	// Services are the Kubernetes Services the engine is behind, as namespace/name
	// (engine-selection.md 2.1).
	Services   []string
	Generation uint64 // life of the engine; 0 when unknown
	Healthy    bool   // the health probe's last word
	Draining   bool   // takes no new requests
	Aborts     bool   // ends a request whose rid it is told (engine-selection.md 13.2)
	Ranks      int    // data-parallel ranks; 0 when nobody knows how many
	InputIDs   bool   // takes the prompt of a chat as token ids beside its messages (engine-selection.md 12.5)

	// Slot is the worker's row in the fleet that owns it. It makes observation
	// look-ups constant time; it carries no meaning outside that fleet.
	Slot int
}

// Serves reports whether the worker serves the model, adapters included.
func (w *Worker) Serves(model string) bool {
	return slices.Contains(w.Models, model) ||
		slices.ContainsFunc(w.Adapters, func(a Adapter) bool { return a.Name == model })
}

// CompareWorkers orders workers by ID, in byte order.
func CompareWorkers(a, b *Worker) int { return cmp.Compare(a.ID, b.ID) }

// FindWorker gives the place of an ID in a list in the order of CompareWorkers: where
// it is, or with false where it would be.
func FindWorker(sorted []*Worker, id WorkerID) (int, bool) {
	return slices.BinarySearchFunc(sorted, id, func(w *Worker, id WorkerID) int { return cmp.Compare(w.ID, id) })
}
