package kvreplay

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/pointsman/pointsman/statesvc/kvevents"
	"github.com/pointsman/pointsman/statesvc/kvevents/engine"
	"github.com/pointsman/pointsman/statesvc/kvevents/recorded"
	"github.com/pointsman/pointsman/statesvc/kvindex"
)

// budget bounds the index of a replay, bytes.
const budget = 1 << 30

// Run replays a recording and calls emit for each line, the summary last. Without cases
// nothing is predicted. Both are read as a stream, so their size does not matter; the
// cases must be in the order of batches_seen_before. An error of a recording ends the
// replay, is in the summary, and is returned.
func Run(frames, cases io.Reader, emit func(line any) error) (Summary, error) {
	r := &replay{emit: emit, index: kvindex.New(kvindex.Config{Budget: budget}), streams: map[int]*stream{}}
	r.sum.Line = "summary"
	err := r.run(frames, cases)
	if err == nil {
		err = r.describe()
	}
	r.sum.Blocks = r.index.Stats().Entries
	if err != nil {
		r.sum.Error = err.Error()
	}
	if emitErr := emit(&r.sum); err == nil {
		err = emitErr
	}
	return r.sum, err
}

// replay is one run.
type replay struct {
	emit    func(any) error
	index   *kvindex.Index
	streams map[int]*stream
	decoder engine.Decoder
	batch   kvevents.Batch
	result  kvindex.Result
	seen    int
	sum     Summary
}

func (r *replay) run(frames, cases io.Reader) error {
	next := func() (recorded.Case, error, bool) { return recorded.Case{}, nil, false }
	if cases != nil {
		pull, stop := iter.Pull2(recorded.Cases(cases))
		defer stop()
		next = pull
	}
	queue := &caseQueue{next: next}
	for m, err := range recorded.Messages(frames) {
		if err != nil {
			return fmt.Errorf("frames: %w", err)
		}
		if err := r.predict(queue, r.seen); err != nil {
			return err
		}
		r.seen++
		if err := r.message(m); err != nil {
			return err
		}
	}
	if r.seen == 0 {
		return errors.New("frames: the file has no messages; record the engine's event socket first")
	}
	if err := r.predict(queue, r.seen); err != nil {
		return err
	}
	if c, ok, err := queue.peek(); err != nil || ok {
		return errors.Join(err, beyond(c, ok, r.seen))
	}
	return nil
}

func beyond(c recorded.Case, ok bool, seen int) error {
	if !ok {
		return nil
	}
	return fmt.Errorf("cases: %q comes after %d messages, the frames end after %d: they belong to another recording or are cut off",
		c.Name, c.Before, seen)
}

// message takes one message. Only emit's errors end the replay.
func (r *replay) message(m recorded.Message) error {
	fail := func(err error) error {
		r.sum.DecodeFailures++
		line := Failure{Line: "failure", Message: r.seen, Port: m.Port, Error: err.Error()}
		if e, ok := errors.AsType[*engine.Error](err); ok {
			line.Reason = e.Reason.String()
		}
		return r.emit(&line)
	}
	live, err := engine.Live(m.Raw())
	if err != nil {
		return fail(err)
	}
	err = r.decoder.Decode(live.Payload, &r.batch)
	if err == nil {
		return r.apply(m, live)
	}
	load, loadErr := engine.DecodeLoad(live.Payload)
	switch {
	case loadErr == nil:
		r.sum.LoadReports++
		return r.emit(&Load{
			Line: "load", Message: r.seen, Port: m.Port,
			Running: load.Running, Waiting: load.Waiting, KVUsed: load.KVUsed, KVCapacity: load.KVCapacity,
		})
	case bytes.Equal(live.Topic, []byte("load")):
		err = loadErr
	}
	return fail(err)
}

// apply puts a decoded batch into the index.
func (r *replay) apply(m recorded.Message, live engine.Message) error {
	s := r.streams[m.Port]
	if s == nil {
		s = &stream{owner: ownerOf(m.Port)}
		r.streams[m.Port] = s
	}
	step := s.step(live)
	switch {
	case step.reset:
		r.index.Reset(s.owner)
		r.sum.Restarts++
	case step.repeat:
		r.sum.Repeats++
	}
	r.sum.Missing += step.missing
	r.sum.Batches++
	if !step.repeat {
		r.index.ApplyBatch(s.owner, &r.batch)
	}
	return r.emit(r.line(m, live, step))
}

func (r *replay) line(m recorded.Message, live engine.Message, step step) *Batch {
	line := &Batch{
		Line: "batch", Message: r.seen, Port: m.Port, Topic: string(live.Topic), Seq: live.Seq, Time: r.batch.Time,
		Note: step.note, Events: []Event{}, Blocks: r.index.Stats().Entries,
	}
	if r.batch.RankKnown {
		line.Rank = &r.batch.Rank
	}
	for i := range r.batch.Events {
		line.Events = append(line.Events, eventOf(&r.batch.Events[i]))
	}
	if d := r.batch.Dropped; d.Any() {
		drops := Drops(d)
		line.Dropped = &drops
		r.sum.DroppedEvents += int(d.Malformed + d.UnknownKind + d.TooLarge)
	}
	return line
}

// describe emits the state of the index.
func (r *replay) describe() error {
	s := r.index.Stats()
	for _, o := range r.index.Occupancies(nil) {
		line := &Occupancy{
			Line: "occupancy", Stream: o.Owner.Worker, Group: o.Group, Window: o.Window, Unplaced: o.Unplaced,
			Blocks: map[string]int64{},
		}
		for t := kvevents.TierDevice; t <= kvevents.TierExternal; t++ {
			if n := o.On(t); n > 0 {
				line.Blocks[tierName(t)] = n
			}
		}
		if err := r.emit(line); err != nil {
			return err
		}
	}
	return r.emit(&Index{
		Line: "index", Bytes: s.Bytes, Contents: s.Nodes, Unplaced: s.Unplaced, ExtraCopies: s.ExtraCopies,
		RemovedUnknown: s.RemovedUnknown, UnknownParent: s.UnknownParent, AmbiguousParent: s.AmbiguousParent,
		Mismatched: s.Mismatched, UnknownTier: s.UnknownTier, Evicted: s.Evicted,
	})
}
