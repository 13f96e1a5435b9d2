package guest

import "time"

// RequestTime is the time one exchange takes in host and guest together, over n
// of them. A tick is let in every thousand, as traffic would have it.
func (g *Guest) RequestTime(c *Chat, n int) (time.Duration, error) {
	g.fleet.next = ChangeNothing
	start := time.Now()
	for i := range n {
		if err := g.Request(c, 0); err != nil {
			return 0, err
		}
		if i%1000 == 999 {
			g.Tick()
		}
	}
	return time.Since(start) / time.Duration(n), nil
}

// SyncCost is what one tick costs with its callout and reply.
type SyncCost struct {
	Time      time.Duration
	Sent, Got int // bytes of report and reply
}

// SyncTime measures n ticks that bring the change, while one request is open on
// about every worker. The time to make the reply is not in it.
func (g *Guest) SyncTime(change Change, n int) (SyncCost, error) {
	open, err := g.openStreams(g.fleet.workers)
	if err != nil {
		return SyncCost{}, err
	}
	defer open.end()
	g.fleet.next = change
	var spent time.Duration
	for range n {
		before := g.fleet.spent
		start := time.Now()
		g.Tick()
		spent += time.Since(start) - (g.fleet.spent - before)
	}
	return SyncCost{Time: spent / time.Duration(n), Sent: g.fleet.sent, Got: g.fleet.got}, nil
}

// Calls counts what one exchange calls: guest callbacks and host functions, by
// name, in the order of their first call.
type Calls struct {
	Names  []string
	Counts map[string]int
	Guest  map[string]bool
}

// Totals are the numbers of host calls and of callbacks.
func (c *Calls) Totals() (host, guest int) {
	for name, n := range c.Counts {
		if c.Guest[name] {
			guest += n
		} else {
			host += n
		}
	}
	return host, guest
}

// RequestCalls traces one exchange with so many streamed chunks.
func (g *Guest) RequestCalls(c *Chat, chunks int) (*Calls, error) {
	g.trace.Reset()
	if err := g.Request(c, chunks); err != nil {
		return nil, err
	}
	calls := &Calls{Counts: map[string]int{}, Guest: map[string]bool{}}
	for _, call := range g.trace.Calls() {
		if calls.Counts[call.Name] == 0 {
			calls.Names = append(calls.Names, call.Name)
		}
		calls.Counts[call.Name]++
		calls.Guest[call.Name] = call.Guest
	}
	return calls, nil
}
