package faultproxy

import (
	"math/rand/v2"
	"time"
)

// Fault is what becomes of a call.
type Fault uint8

// The faults. Pass is none.
const (
	Pass        Fault = iota
	Delay             // delivered after a while; the caller may have given up
	DropRequest       // not delivered, the connection is closed
	DropReply         // delivered, the connection is closed instead of an answer
	CutReply          // delivered, the connection is closed in the middle of the answer
	Duplicate         // delivered twice, answered with the second answer
	Reorder           // the connection is closed; delivered after one or more later calls
	Garbage           // not delivered, answered with 200 and random bytes
	NotHTTP           // not delivered, answered with something that is no HTTP
	Stale             // not delivered, answered with an earlier answer
	Refuse            // not delivered, answered with 503
	HalfOpen          // not delivered and never answered
	faultCount
)

// String gives the fault's name.
func (f Fault) String() string {
	if f >= faultCount {
		return "unknown"
	}
	return [...]string{
		Pass: "pass", Delay: "delay", DropRequest: "drop request", DropReply: "drop reply", CutReply: "cut reply",
		Duplicate: "duplicate", Reorder: "reorder", Garbage: "garbage", NotHTTP: "not http", Stale: "stale",
		Refuse: "refuse", HalfOpen: "half-open",
	}[f]
}

// Faults lists all of them, Pass first.
func Faults() []Fault {
	list := make([]Fault, faultCount)
	for i := range list {
		list[i] = Fault(i)
	}
	return list
}

// plan is what was drawn for one call.
type plan struct {
	fault Fault
	delay time.Duration
	hold  int // deliveries that pass a held call by
	noise []byte
}

// draw gives the plan of the n-th call: a function of the seed and n.
func draw(seed, n uint64, weights []int, maxDelay time.Duration, maxHold int) plan {
	r := rand.New(rand.NewPCG(seed, n))
	p := plan{
		fault: pick(r, weights), delay: time.Duration(r.Int64N(int64(maxDelay) + 1)),
		hold: 1 + r.IntN(max(maxHold, 1)), noise: make([]byte, 1+r.IntN(300)),
	}
	for i := range p.noise {
		p.noise[i] = byte(r.Uint32())
	}
	return p
}

// weigh lists the weights by fault.
func weigh(weights map[Fault]int) []int {
	list := make([]int, faultCount)
	for f, w := range weights {
		if f < faultCount && w > 0 {
			list[f] = w
		}
	}
	return list
}

// pick draws a fault, each as often as its weight says.
func pick(r *rand.Rand, weights []int) Fault {
	sum := 0
	for _, w := range weights {
		sum += w
	}
	if sum <= 0 {
		return Pass
	}
	at := r.IntN(sum)
	for f, w := range weights {
		if at -= w; at < 0 {
			return Fault(f)
		}
	}
	return Pass
}
