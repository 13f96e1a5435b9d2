package traffic

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// Request is one request of a workload.
type Request struct {
	Body    []byte
	Session string // value of the session header
	Prompt  string // the text that an engine computes
	Answer  string // the text that it generates then
}

// Workload gives requests, one after the other, of many parties: Next is called
// when a connection is free. Single-threaded.
type Workload interface {
	// Next gives the request of the next party that is ready, false when none is
	// now.
	Next() (*Party, Request, bool)
	// Answered says that a party has its answer. After the pause, Ready must be
	// called with it, unless more is false.
	Answered(p *Party) (pause time.Duration, more bool)
	// Ready puts a party back into line.
	Ready(p *Party)
	// Done reports whether all requests are answered.
	Done() bool
}

// Party is whoever sends the requests of one conversation.
type Party struct {
	id   int
	turn int
	chat chat
	rand *rand.Rand
	last string // its present answer
}

// Chats are conversations that grow turn by turn, in groups that share a system
// prompt: the session workload of the peers' benchmark.
type Chats struct {
	Model     string
	Sessions  int
	Turns     int
	Groups    int // shared system prompts
	System    int // characters of each
	Turn      int // characters of each question
	MaxTokens int
	Answer    string        // what engines generate
	Think     time.Duration // mean of the exponential pauses between turns
	Seed      uint64
	Texts     uint64 // further seed of the questions alone: other chats behind the same system prompts
}

// SessionChats is the session workload: 200 sessions of 8 turns of 4 KB behind 16
// system prompts of 8 KB, answered with 16 tokens.
func SessionChats(model string, seed uint64) Chats {
	return Chats{
		Model: model, Sessions: 200, Turns: 8, Groups: 16, System: 8192, Turn: 4096, MaxTokens: 16,
		Answer: strings.Repeat(" token", 16), Think: 300 * time.Millisecond, Seed: seed,
	}
}

// LongAnswers is the session workload with short questions and answers of 8 KB.
func LongAnswers(model string, seed uint64) Chats {
	c := SessionChats(model, seed)
	c.Turn, c.MaxTokens = 400, 1365
	c.Answer = strings.Repeat(" token", c.MaxTokens)
	return c
}

// Start begins the workload: all conversations are in line, in random order.
func (c Chats) Start() Workload {
	r := source(c.Seed, 0)
	systems := make([]string, c.Groups)
	for g := range systems {
		systems[g] = fmt.Sprintf("Tenant %d. ", g) + text(r, c.System)
	}
	w := &chats{Chats: c, left: c.Sessions}
	for _, i := range r.Perm(c.Sessions) {
		p := &Party{id: i, rand: source(c.Seed^c.Texts<<32, uint64(i)+1)}
		p.chat.add("system", systems[i%c.Groups])
		w.line = append(w.line, p)
	}
	return w
}

type chats struct {
	Chats
	line []*Party
	left int // conversations not over
}

func (w *chats) Next() (*Party, Request, bool) {
	if len(w.line) == 0 {
		return nil, Request{}, false
	}
	p := w.line[0]
	w.line = w.line[1:]
	p.chat.add("user", fmt.Sprintf("S%d T%d ", p.id, p.turn)+text(p.rand, w.Turn))
	p.last = w.Answer
	return p, Request{
		Body:    p.chat.body(w.Model, w.MaxTokens, fmt.Sprintf("user-%d", p.id)),
		Session: fmt.Sprintf("session-%d", p.id),
		Prompt:  p.chat.prompt.String(), Answer: "<|assistant|>" + w.Answer,
	}, true
}

func (w *chats) Answered(p *Party) (pause time.Duration, more bool) {
	p.chat.add("assistant", p.last)
	if p.turn++; p.turn == w.Turns {
		w.left--
		return 0, false
	}
	return time.Duration(p.rand.ExpFloat64() * float64(w.Think)), true
}

func (w *chats) Ready(p *Party) { w.line = append(w.line, p) }

func (w *chats) Done() bool { return w.left == 0 }
