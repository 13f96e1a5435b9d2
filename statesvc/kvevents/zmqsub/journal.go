package zmqsub

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"time"
)

// journalPause is the least time between two looks of a journal at its stream.
const journalPause = time.Second

// standing is what the log is told of a socket.
type standing struct {
	trust   Trust // of a Stream
	reason  Reason
	last    int64
	trouble trouble // with reaching the socket
	err     string  // what it shows as
}

// trouble is why a socket is not reached.
type trouble uint8

const (
	troubleNone    trouble = iota
	troubleDial            // nobody answers at the address
	troubleForeign         // somebody does, who is no publisher
)

// troubleOf tells a connection that does not come about from a peer that is no publisher.
func troubleOf(err error) trouble {
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" || errors.Is(err, errEndpoint) {
		return troubleDial
	}
	return troubleForeign
}

// advice tells the person what to look at.
func (t trouble) advice() string {
	switch t {
	case troubleDial:
		return "check that the engine runs and publishes at this address, and that a firewall lets it through"
	case troubleForeign:
		return "what listens there is no ZMQ PUB socket; check the port: it is not the engine's HTTP port and not the replay socket"
	case troubleNone:
	}
	return ""
}

// journal tells the log what became of one socket: at most once a second, and in the end
// always the latest. What is undone in between is not told.
type journal struct {
	log      *slog.Logger
	socket   string // what it carries
	endpoint string
	changed  chan struct{} // holds a token while there may be something to tell

	mu  sync.Mutex
	now standing
}

func newJournal(log *slog.Logger, socket, endpoint string) *journal {
	return &journal{log: log, socket: socket, endpoint: endpoint, changed: make(chan struct{}, 1)}
}

// note takes over what changed. It waits for nobody.
func (j *journal) note(update func(*standing)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	before := j.now
	update(&j.now)
	if j.now.trust == before.trust && j.now.trouble == before.trouble {
		return
	}
	select {
	case j.changed <- struct{}{}:
	default:
	}
}

// run tells until ctx ends.
func (j *journal) run(ctx context.Context) {
	var told standing
	for {
		select {
		case <-ctx.Done():
			return
		case <-j.changed:
		}
		j.mu.Lock()
		now := j.now
		j.mu.Unlock()
		if j.tell(told, now) {
			told = now
			if !pause(ctx, journalPause) {
				return
			}
		}
	}
}

// tell writes a line for each thing that is not as it was told.
func (j *journal) tell(told, now standing) (wrote bool) {
	if now.trouble != told.trouble {
		if now.trouble == troubleNone {
			j.log.Info("socket is reached again", "carries", j.socket, "endpoint", j.endpoint)
		} else {
			j.log.Warn("socket is not reached; it is tried again", "carries", j.socket, "endpoint", j.endpoint, "error", now.err, "advice", now.trouble.advice())
		}
	}
	if now.trust != told.trust {
		j.log.Info("trust in KV events changed", "trust", now.trust.String(), "reason", now.reason.String(), "endpoint", j.endpoint, "last", now.last)
	}
	return now.trust != told.trust || now.trouble != told.trouble
}
