package traffic

import (
	"fmt"
	"time"
)

// Hot is one shared prompt that every request begins with: half of its text, the
// rest is its own. Each connection sends its next request when it has its answer.
type Hot struct {
	Model    string
	Bytes    int // of a body, about
	Requests int
	Seed     uint64
}

// Start begins the workload.
func (h Hot) Start() Workload {
	r := source(h.Seed, 0)
	return &hot{Hot: h, system: text(r, h.Bytes/2), rest: text(r, h.Bytes/2)}
}

type hot struct {
	Hot
	system, rest   string
	sent, answered int
}

func (w *hot) Next() (*Party, Request, bool) {
	if w.sent == w.Requests {
		return nil, Request{}, false
	}
	w.sent++
	p := &Party{id: w.sent}
	p.chat.add("system", w.system)
	p.chat.add("user", fmt.Sprintf("%016d ", w.sent)+w.rest)
	return p, Request{
		Body:    p.chat.body(w.Model, 16, "hot"),
		Session: fmt.Sprintf("hot-%d", w.sent), Prompt: p.chat.prompt.String(),
	}, true
}

func (w *hot) Answered(*Party) (pause time.Duration, more bool) {
	w.answered++
	return 0, false
}

func (w *hot) Ready(*Party) {}

func (w *hot) Done() bool { return w.answered == w.Requests }
