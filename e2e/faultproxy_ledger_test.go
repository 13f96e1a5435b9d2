package e2e

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pointsman/pointsman/statesvc/wirepb"
	"google.golang.org/protobuf/proto"
)

// expiry is how long the state service keeps a context after its last report,
// less the millisecond that its clock may round off.
const expiry = 1499 * time.Millisecond

// ledger knows, from the clients alone, how much each report can say at most.
//
// A filter holds a request only after its client has begun it and until before
// its client has seen its end. A report is made before it arrives at the fault
// proxy, and after the context's former report arrived there, since a context
// has one report on its way (a report that is overtaken would have to lie unread
// for the whole time-out of the call, a second). So at most
//
//	begun when it arrived - ended when the former one arrived
//
// requests are in it, whatever the filter says. The second term is what makes it
// the rule that is to be shown: the truth at any later instant is begun - ended
// at that instant, and the report is above it by no more than what was released
// since the report was made.
type ledger struct {
	begun, ended atomic.Int64

	mu       sync.Mutex
	former   map[uint64]int64 // ended when the context's last report arrived
	reports  map[uint64]*report
	contexts map[uint64][]*report // those on their way or delivered
	faults   []string
}

// report is one report of one context.
type report struct {
	context, seq uint64
	most         int64
	began        time.Time // of its first delivery
	latest       time.Time // its last delivery began or ended
	delivering   int       // deliveries that have not ended
	applied      bool      // the state service has answered it
}

func newLedger() *ledger {
	return &ledger{former: map[uint64]int64{}, reports: map[uint64]*report{}, contexts: map[uint64][]*report{}}
}

// Arrived implements faultproxy.Observer.
func (l *ledger) Arrived(n uint64, body []byte) {
	begun, ended := l.begun.Load(), l.ended.Load()
	var sent wirepb.SyncRequest
	if err := proto.Unmarshal(body, &sent); err != nil {
		l.fault("call %d is no report: %v", n, err)
		return
	}
	if sent.GetIdle() {
		return // says nothing
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	r := &report{context: sent.GetContext(), seq: sent.GetSeq(), most: begun - l.former[sent.GetContext()]}
	l.former[r.context] = ended
	l.reports[n] = r
	says := int64(0)
	for _, w := range sent.GetWorkers() {
		says += int64(w.GetInflight())
	}
	if says > r.most {
		l.faults = append(l.faults, fmt.Sprintf("report %d says %d in flight of at most %d", r.seq, says, r.most))
	}
}

func (l *ledger) fault(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.faults = append(l.faults, fmt.Sprintf(format, args...))
}

// Delivering implements faultproxy.Observer.
func (l *ledger) Delivering(n uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.reports[n]
	if r == nil {
		return
	}
	r.latest = time.Now()
	r.delivering++
	if r.began.IsZero() {
		r.began = r.latest
		l.contexts[r.context] = append(l.contexts[r.context], r)
	}
}

// Delivered implements faultproxy.Observer.
func (l *ledger) Delivered(n uint64, status int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r := l.reports[n]; r != nil {
		r.latest = time.Now()
		r.delivering--
		r.applied = r.applied || status == 200
	}
}

// judge begins a sample of the state service's total; the function it returns
// takes what was read and says what is wrong with it.
func (l *ledger) judge() func(total uint64) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	newest := map[uint64]*report{}
	for context, reports := range l.contexts {
		newest[context] = lastApplied(reports)
	}
	return func(total uint64) string {
		l.mu.Lock()
		defer l.mu.Unlock()
		most := int64(0)
		for context, reports := range l.contexts {
			most += mostInForce(reports, newest[context])
		}
		if total > uint64(most) {
			return fmt.Sprintf("%d in flight of at most %d", total, most)
		}
		return ""
	}
}

// lastApplied is the newest report that the state service has answered, nil for
// none.
func lastApplied(reports []*report) (newest *report) {
	for _, r := range reports {
		if r.applied && (newest == nil || r.seq > newest.seq) {
			newest = r
		}
	}
	return newest
}

// mostInForce is the most that any report can say which may have been in force
// since newest was the newest answered one: newest itself, a later one, or an
// older one that came so late that the context had expired meanwhile.
func mostInForce(reports []*report, newest *report) (most int64) {
	for _, r := range reports {
		if newest == nil || r.seq >= newest.seq || r.lastSeen().Sub(newest.began) >= expiry {
			most = max(most, r.most)
		}
	}
	return most
}

func (r *report) lastSeen() time.Time {
	if r.delivering > 0 {
		return time.Now()
	}
	return r.latest
}
