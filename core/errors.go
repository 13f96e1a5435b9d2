package core

import (
	"errors"
	"fmt"
)

// Classes of selection failure. A typed error below answers errors.Is for its
// class, so callers branch on the class and read fields with errors.As.
var (
	// ErrUnavailable is the class of failures where no engine could be considered.
	ErrUnavailable = errors.New("no engine available")
	// ErrRejected is the class of failures where engines were considered and none admitted.
	ErrRejected = errors.New("rejected by admission")
	// ErrInvalid is the class of failures that a person must repair.
	ErrInvalid = errors.New("invalid signal or configuration")
	// ErrOutsideCandidates says that a policy returned an engine it was not given.
	ErrOutsideCandidates = errors.New("policy picked an engine outside its candidates")
)

// NoCandidatesError says that a group had no eligible member.
type NoCandidatesError struct {
	Bucket string
	Stage  Stage
}

func (e *NoCandidatesError) Error() string {
	return fmt.Sprintf("bucket %q: %s: no candidates", e.Bucket, e.Stage)
}

// Is reports class membership.
func (e *NoCandidatesError) Is(target error) bool { return target == ErrUnavailable }

// Rejection is one engine refused by one admission cap.
type Rejection struct {
	Worker WorkerID
	Limit  string // name of the violated cap
	Value  uint64 // the observed metric
	Cap    uint64 // the configured cap
}

func (r Rejection) String() string {
	return fmt.Sprintf("%s: %s %d of %d", r.Worker, r.Limit, r.Value, r.Cap)
}

// AdmissionError says that the chosen engine failed its admission check.
type AdmissionError struct {
	Bucket string
	Stage  Stage
	Rejection
}

func (e *AdmissionError) Error() string {
	return fmt.Sprintf("bucket %q: %s: rejected %s", e.Bucket, e.Stage, e.Rejection)
}

// Is reports class membership.
func (e *AdmissionError) Is(target error) bool { return target == ErrRejected }

// NoAdmissibleError says that a policy tried its candidates and none was admitted.
type NoAdmissibleError struct {
	Bucket     string
	Stage      Stage
	Rejections []Rejection
}

func (e *NoAdmissibleError) Error() string {
	return fmt.Sprintf("bucket %q: %s: no admissible engine of %d %v", e.Bucket, e.Stage, len(e.Rejections), e.Rejections)
}

// Is reports class membership.
func (e *NoAdmissibleError) Is(target error) bool { return target == ErrRejected }

// InvalidSignalError says that an observation or a request fact makes no sense.
type InvalidSignalError struct{ Detail string }

func (e *InvalidSignalError) Error() string { return "invalid signal: " + e.Detail }

// Is reports class membership.
func (e *InvalidSignalError) Is(target error) bool { return target == ErrInvalid }

// ConfigError says that a part was built in a way it cannot work with.
type ConfigError struct{ Detail string }

func (e *ConfigError) Error() string { return "invalid configuration: " + e.Detail }

// Is reports class membership.
func (e *ConfigError) Is(target error) bool { return target == ErrInvalid }

// Advance reports whether the bucket loop goes on to the next bucket after err
// (invariant I5).
func Advance(err error) bool {
	return errors.Is(err, ErrUnavailable) || errors.Is(err, ErrRejected)
}

// StageOf gives the stage a selection failure happened in, StageNone when the
// failure belongs to no stage.
func StageOf(err error) Stage {
	var missing *NoCandidatesError
	var rejected *AdmissionError
	var exhausted *NoAdmissibleError
	switch {
	case errors.As(err, &missing):
		return missing.Stage
	case errors.As(err, &rejected):
		return rejected.Stage
	case errors.As(err, &exhausted):
		return exhausted.Stage
	}
	return StageNone
}

// Rejections lists the engines that err says were refused.
func Rejections(err error) []Rejection {
	var rejected *AdmissionError
	var exhausted *NoAdmissibleError
	switch {
	case errors.As(err, &rejected):
		return []Rejection{rejected.Rejection}
	case errors.As(err, &exhausted):
		return exhausted.Rejections
	}
	return nil
}
