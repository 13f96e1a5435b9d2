package pump

import "sync"

// strength is how good a reason an engine has to name a socket.
type strength uint8

const (
	strengthTold   strength = iota // it says so
	strengthOwn                    // and the socket is on its own host
	strengthConfig                 // the configuration says so
)

// claims gives each socket to one engine, so that none is credited with what another
// holds. The better reason wins, then who came first.
type claims struct {
	mu sync.Mutex
	by map[string]claim // by endpoint
}

type claim struct {
	worker   string
	strength strength
}

// take claims an endpoint. loser is the engine it is taken from, if one.
func (c *claims) take(endpoint, worker string, s strength) (ok bool, loser string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	held, taken := c.by[endpoint]
	if taken && held.worker != worker && held.strength >= s {
		return false, ""
	}
	c.by[endpoint] = claim{worker: worker, strength: s}
	if taken && held.worker != worker {
		loser = held.worker
	}
	return true, loser
}

func (c *claims) holds(endpoint, worker string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.by[endpoint].worker == worker
}

func (c *claims) drop(endpoint, worker string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.by[endpoint].worker == worker {
		delete(c.by, endpoint)
	}
}
