package fakes

import (
	"crypto/sha256"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Outcome is how an inference request ended.
type Outcome string

// The outcomes.
const (
	Pending   Outcome = "pending"   // still in the engine
	Completed Outcome = "completed" // answered in full with 200
	Aborted   Outcome = "aborted"   // the client left, /abort_request named it, or the engine was stopped
	Failed    Outcome = "failed"    // answered with an error, or cut off by a fault
)

// Record is one inference request as the engine saw it. Header and Body are shared with the engine: read only.
type Record struct {
	Method, Path, Host string
	Header             http.Header
	Body               []byte   // the first RecordedBody bytes
	BodyLength         int64    // of the whole body
	BodySHA256         [32]byte // of the whole body
	Start, End         time.Time
	Outcome            Outcome
	Status             int // HTTP status, 0 if none was sent
	PromptTokens       int // 0 until the body was understood
	OutputTokens       int // produced, all choices together

	epoch int
}

// Counters sum up the inference requests since the engine was made or Reset.
type Counters struct {
	Received, Completed, Aborted, Failed int64
	InFlight                             int // in the engine at the moment: running, waiting or hanging
	MaxConcurrent                        int // greatest InFlight seen
}

// recorder keeps counters and the newest records. It is safe for concurrent use and bounded by its ring.
type recorder struct {
	mu       sync.Mutex
	ring     []*Record
	counters Counters
	aborts   []Abort
	epoch    int // number of resets, so that a request from before one is not counted after it
}

// Abort is one call of /abort_request. Header is shared with the engine: read only.
type Abort struct {
	Rid    string // empty for all requests
	Header http.Header
}

// noteAbort notes a call of /abort_request, unless as many are kept as records are.
func (r *recorder) noteAbort(rid string, h http.Header) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.aborts) < len(r.ring) {
		r.aborts = append(r.aborts, Abort{Rid: rid, Header: h})
	}
}

// Aborts returns the calls of /abort_request since the engine was made or Reset, at most Config.RecordedEntries.
func (e *Engine) Aborts() []Abort {
	e.rec.mu.Lock()
	defer e.rec.mu.Unlock()
	return slices.Clone(e.rec.aborts)
}

func newRecorder(entries int) *recorder {
	return &recorder{ring: make([]*Record, max(entries, 0))}
}

// keeps reports whether records, not only counters, are kept.
func (r *recorder) keeps() bool { return len(r.ring) > 0 }

// begin notes an arriving request.
func (r *recorder) begin(req *http.Request, now time.Time) *Record {
	rec := &Record{
		Method: req.Method, Path: req.URL.Path, Host: req.Host, Header: req.Header,
		Start: now, Outcome: Pending,
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	rec.epoch = r.epoch
	if r.keeps() {
		r.ring[r.counters.Received%int64(len(r.ring))] = rec
	}
	r.counters.Received++
	r.counters.InFlight++
	r.counters.MaxConcurrent = max(r.counters.MaxConcurrent, r.counters.InFlight)
	return rec
}

// noteBody notes the body, of which a long one is not kept alive.
func (r *recorder) noteBody(rec *Record, body []byte) {
	if !r.keeps() {
		return
	}
	sum := sha256.Sum256(body)
	head := body
	if len(body) > RecordedBody {
		head = append([]byte(nil), body[:RecordedBody]...)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	rec.Body, rec.BodyLength, rec.BodySHA256 = head, int64(len(body)), sum
}

// notePrompt notes the size of an understood prompt.
func (r *recorder) notePrompt(rec *Record, tokens int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	rec.PromptTokens = tokens
}

// finish notes the end of a request.
func (r *recorder) finish(rec *Record, end ending, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	rec.Outcome, rec.Status, rec.OutputTokens, rec.End = end.outcome, end.status, end.tokens, now
	r.counters.InFlight--
	if rec.epoch != r.epoch {
		return
	}
	switch end.outcome {
	case Completed:
		r.counters.Completed++
	case Aborted:
		r.counters.Aborted++
	case Failed, Pending:
		r.counters.Failed++
	}
}

// Requests returns the newest inference requests, oldest first, at most Config.RecordedEntries of them.
func (e *Engine) Requests() []Record {
	r := e.rec
	r.mu.Lock()
	defer r.mu.Unlock()
	size := int64(len(r.ring))
	records := make([]Record, 0, min(size, r.counters.Received))
	for i := max(0, r.counters.Received-size); i < r.counters.Received; i++ {
		records = append(records, *r.ring[i%size])
	}
	return records
}

// Counters returns the counters at the moment.
func (e *Engine) Counters() Counters {
	e.rec.mu.Lock()
	defer e.rec.mu.Unlock()
	return e.rec.counters
}

// Reset forgets all records and zeroes the counters. Requests that are in the engine stay in InFlight and are not
// counted when they end.
func (e *Engine) Reset() {
	r := e.rec
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.ring)
	r.aborts = nil
	r.epoch++
	r.counters = Counters{InFlight: r.counters.InFlight, MaxConcurrent: r.counters.InFlight}
}
