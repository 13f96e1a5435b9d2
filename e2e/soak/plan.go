package soak

import "math/rand/v2"

// Kind is what a request is to become.
type Kind uint8

// The kinds.
const (
	Whole        Kind = iota // an ordinary chat
	Stream                   // a streamed chat
	Large                    // a body of LargeBytes
	NotJSON                  // a body the filter refuses
	NoModel                  // a model that nobody serves
	Engine500                // the engine answers 500
	Engine429                // the engine answers 429
	LostOnce                 // the first engine dies before its answer, the second serves
	CutMidway                // the engine dies in the middle of a stream
	AbortHeaders             // the client leaves before its headers end
	AbortPaused              // the client leaves in the middle of its body
	AbortWaiting             // the client leaves before the response headers
	AbortStream              // the client leaves in the middle of a stream
	kindCount
)

// kinds give each kind its name, the outcome that is asked for, and how many of
// 10,000 requests are of it. What is left over is Whole.
func kinds() [kindCount]struct {
	name, want string
	share      int
} {
	return [kindCount]struct {
		name, want string
		share      int
	}{
		Whole:        {"chat", "200", 0},
		Stream:       {"streamed chat", "200 streamed", 1000},
		Large:        {"body of 32 MiB", "200", 0},
		NotJSON:      {"body that is no JSON", "400 bad_request", 50},
		NoModel:      {"unknown model", "404 model_not_found", 50},
		Engine500:    {"engine answers 500", "500", 50},
		Engine429:    {"engine answers 429", "429", 50},
		LostOnce:     {"engine resets, another serves", "200", 30},
		CutMidway:    {"engine resets mid-stream", "200 cut", 30},
		AbortHeaders: {"client leaves before its headers end", aborted, 50},
		AbortPaused:  {"client leaves mid-body", aborted, 50},
		AbortWaiting: {"client leaves before the answer", aborted, 50},
		AbortStream:  {"client leaves mid-stream", aborted, 50},
	}
}

// String is the kind in words.
func (k Kind) String() string { return kinds()[k].name }

// routed tells which requests of the kind the filter sends to an engine: all of
// them, none, or those that it had time for.
func (k Kind) routed() (least, most int) {
	switch k {
	case NotJSON, NoModel, AbortHeaders, AbortPaused:
		return 0, 0
	case AbortWaiting:
		return 0, 1
	case Whole, Stream, Large, Engine500, Engine429, LostOnce, CutMidway, AbortStream, kindCount:
	}
	return 1, 1
}

// Plan says what every request of a run is to become. Two equal plans are the
// same run.
type Plan struct {
	Requests int
	Large    int // requests of LargeBytes, spread evenly
	Seed     uint64
	// Harsh multiplies the shares of all kinds but Stream, 1 to MaxHarsh; 0 is 1.
	// Above 1 the filter runs without its breaker, which would soon take every
	// engine out.
	Harsh int
	// NoResend is set for a host that sends a request to another engine only when
	// it could not connect to the first, as hostsim does: LostOnce is then a 503.
	NoResend bool
}

// MaxHarsh leaves some requests that are answered.
const MaxHarsh = 16

// Want is the one outcome that a kind asks for.
func (p Plan) Want(k Kind) string {
	if k == LostOnce && p.NoResend {
		return "503"
	}
	return kinds()[k].want
}

// Kind is that of the request with an ordinal, counted from 0.
func (p Plan) Kind(i int) Kind {
	if (i+1)*p.Large/p.Requests > i*p.Large/p.Requests {
		return Large
	}
	draw := p.random(i, useKind).IntN(10_000)
	for k, kind := range kinds() {
		share := kind.share
		if Kind(k) != Stream {
			share *= max(1, p.Harsh)
		}
		if draw -= share; draw < 0 {
			return Kind(k)
		}
	}
	return Whole
}

// Uses of a request's random numbers, so that one says nothing of another.
const (
	useKind = iota
	useBody
	useLeave
	uses
)

// random are the random numbers of one request for one use.
func (p Plan) random(i, use int) *rand.Rand {
	return rand.New(rand.NewPCG(p.Seed, uint64(i)*uses+uint64(use)))
}

// Asked counts the requests of each kind.
func (p Plan) Asked() [kindCount]int {
	var n [kindCount]int
	for i := range p.Requests {
		n[p.Kind(i)]++
	}
	return n
}
