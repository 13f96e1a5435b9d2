package zmqsub

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/go-zeromq/zmq4"
	"github.com/pointsman/pointsman/statesvc/kvevents/engine"
)

var (
	errNotMonotonic = errors.New("the replay's numbers do not rise")
	errReplayLate   = errors.New("the replay takes longer than it may")
)

// replayLimits bound one replay.
type replayLimits struct {
	idle  time.Duration // without a reply
	total time.Duration
	bytes int // of one reply
}

// replay asks an endpoint for the batches from a number on and gives each to take, until
// take says that it has enough or the engine that there are no more. It is nil then. The
// peer is read as fast as take returns and no faster: the socket buffers of both sides
// hold the rest, so that no high-water mark is met (fixtures/README.md trap 8).
func replay(ctx context.Context, endpoint string, from int64, l replayLimits, take func(engine.Message, bool) bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, l.total, errReplayLate)
	defer cancel()
	p, err := dial(ctx, endpoint, zmq4.Dealer, l.bytes)
	if err != nil {
		return err
	}
	defer p.close()
	var start [8]byte
	binary.BigEndian.PutUint64(start[:], uint64(from))
	if err := p.send(nil, start[:]); err != nil {
		return fmt.Errorf("%s: %w", endpoint, err)
	}
	last := int64(-1)
	for {
		if err := p.conn.SetReadDeadline(time.Now().Add(l.idle)); err != nil {
			return err
		}
		m, err := p.receive()
		if err != nil {
			if ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			return fmt.Errorf("%s: replay after %d: %w", endpoint, last, err)
		}
		reply, err := engine.Replayed(m.frames)
		switch {
		case err != nil:
			return err
		case reply.Seq == engine.EndOfReplay:
			return nil
		case reply.Seq <= last:
			return errNotMonotonic
		}
		last = reply.Seq
		if !take(reply, m.oversized) {
			return nil
		}
	}
}
