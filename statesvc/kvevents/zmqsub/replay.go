package zmqsub

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/go-zeromq/zmq4"
	"github.com/pointsman/pointsman/statesvc/kvevents/engine"
)

var (
	errNotMonotonic = errors.New("the replay's numbers do not rise")
	errReplayLate   = errors.New("the replay takes longer than it may")
	errReplayLong   = errors.New("the replay is longer than what may wait; it is asked for in parts")
	errHole         = errors.New("the replay leaves batches out")
)

// replayLimits bound one replay.
type replayLimits struct {
	idle    time.Duration // without a reply
	total   time.Duration
	bytes   int // of one reply
	waiting int // bytes of replies that wait to be taken
}

// replay asks an endpoint for the batches from a number on and gives each to take, until
// take says that it has enough or the engine that there are no more. It is nil then.
//
// Replies are read as they come, whatever take does: an engine's ROUTER socket drops
// those that meet its high-water mark, the end marker too (fixtures/README.md trap 8).
// Beyond what may wait the connection is cut, and what came is taken.
func replay(ctx context.Context, endpoint string, from int64, l replayLimits, take func(*engine.Message, bool) bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, l.total, errReplayLate)
	defer cancel()
	p, err := dial(ctx, endpoint, zmq4.Dealer, l.bytes)
	if err != nil {
		return err
	}
	defer p.close()
	if err := p.send(nil, binary.BigEndian.AppendUint64(nil, uint64(from))); err != nil {
		return fmt.Errorf("%s: %w", endpoint, err)
	}
	waiting := newQueue(math.MaxInt, l.waiting)
	done := make(chan ending, 1)
	go func() { done <- ending{p.replies(ctx, l.idle, waiting)} }()
	enough, err := takeAll(waiting, done, take)
	if enough {
		p.close()
		<-done
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", endpoint, err)
	}
	return nil
}

// ending is why no more replies come.
type ending struct{ err error }

// takeAll gives replies to take until it has enough, or the reader has ended and nothing
// waits any more.
func takeAll(waiting *queue, done <-chan ending, take func(*engine.Message, bool) bool) (enough bool, err error) {
	ended := false
	for {
		for it, ok := waiting.take(); ok; it, ok = waiting.take() {
			if !take(&it.msg, it.oversized) {
				return !ended, nil
			}
		}
		if ended {
			return false, err
		}
		select {
		case end := <-done:
			ended, err = true, end.err
		case <-waiting.ready:
		}
	}
}

// replies reads until the end marker.
func (p *peer) replies(ctx context.Context, idle time.Duration, into *queue) error {
	for last := int64(-1); ; {
		if err := p.conn.SetReadDeadline(time.Now().Add(idle)); err != nil {
			return err
		}
		m, err := p.receive()
		if err != nil {
			if ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			return fmt.Errorf("replay after %d: %w", last, err)
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
		if !into.offer(item{msg: reply, oversized: m.oversized}) {
			return errReplayLong
		}
	}
}
