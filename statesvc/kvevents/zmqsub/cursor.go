package zmqsub

import "github.com/cespare/xxhash/v2"

// remembered is how many batches are told from others of the same number.
const remembered = 1024

// verdict is what a message is to what was delivered before.
type verdict uint8

const (
	verdictNext      verdict = iota // the one to deliver
	verdictFirst                    // nothing was delivered before
	verdictGap                      // some before it are missing
	verdictDuplicate                // delivered already
	verdictRestart                  // of another process than what was delivered
)

// cursor is where a stream stands. Its zero value stands nowhere.
type cursor struct {
	known bool
	last  int64
	seen  [remembered]uint64 // digests by number
}

// judge places a batch. rising tells that numbers rise on a connection whose process is
// known to be the one of the cursor: what is old there was in a replay.
func (c *cursor) judge(seq int64, payload []byte, rising bool) verdict {
	switch {
	case !c.known:
		return verdictFirst
	case seq == c.last+1:
		return verdictNext
	case seq > c.last:
		return verdictGap
	case rising || c.delivered(seq, payload):
		return verdictDuplicate
	default:
		return verdictRestart
	}
}

// delivered reports whether this very batch was delivered.
func (c *cursor) delivered(seq int64, payload []byte) bool {
	return c.known && seq <= c.last && seq > c.last-remembered && c.seen[seq%remembered] == digest(payload)
}

// move notes a delivered batch.
func (c *cursor) move(seq int64, payload []byte) {
	for missed := max(c.last+1, seq-remembered); c.known && missed < seq; missed++ {
		c.seen[missed%remembered] = 0
	}
	c.known, c.last = true, seq
	c.seen[seq%remembered] = digest(payload)
}

// missing counts the batches between the last one and seq.
func (c *cursor) missing(seq int64) uint64 {
	if !c.known || seq <= c.last {
		return 0
	}
	return uint64(seq - c.last - 1)
}

// forget makes the cursor stand nowhere.
func (c *cursor) forget() { *c = cursor{} }

// digest is never 0, which stands for a batch that was not seen.
func digest(payload []byte) uint64 { return xxhash.Sum64(payload) | 1 }
