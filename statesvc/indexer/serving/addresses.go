package serving

import (
	"sync"
	"time"
)

// lookEvery is for how long the addresses of workers are taken to be the same. A worker
// that is not among them makes for a look sooner, though not sooner than lookAgain.
const (
	lookEvery = time.Second
	lookAgain = 50 * time.Millisecond
)

// addresses are the engines' base URLs by ID.
type addresses struct {
	fleet Fleet

	mu     sync.Mutex
	looked time.Time
	byID   map[string]string
}

// of gives a worker's, empty when it has left.
func (a *addresses) of(worker string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	since := time.Since(a.looked)
	if _, known := a.byID[worker]; since > lookEvery || !known && since > lookAgain {
		a.look()
	}
	return a.byID[worker]
}

func (a *addresses) look() {
	list := a.fleet.Status()
	a.byID = make(map[string]string, len(list))
	for i := range list {
		a.byID[string(list[i].Worker.ID)] = list[i].URL
	}
	a.looked = time.Now()
}
