package story

import (
	"time"

	"github.com/pointsman/pointsman/core/flow"
	"github.com/pointsman/pointsman/core/spec"
	"github.com/pointsman/pointsman/core/wire"
)

// connect lets the filter's policies read what the state service knows.
func (f *nativeFilter) connect(cfg *spec.Config, views *flow.Views) {
	if cfg.State == nil {
		return
	}
	f.flow.UseState(flow.StateOf(cfg, f.flow.Router, views, f.sync.request.Context))
}

// observe asks what the state service knows of the request.
func (e *nativeExchange) observe(effect *flow.Effect) {
	number, message := effect.Call, wire.AppendObserveRequest(nil, effect.Observe)
	e.call(wire.ObservePath, message, effect.Observe.TimeoutMillis, func(reply []byte) *flow.Event {
		ev := &flow.Event{Kind: flow.EventObserved, Call: number}
		if decoded, err := wire.DecodeObserveReply(reply); err == nil && reply != nil {
			ev.Observed = decoded
		}
		return ev
	})
}

// bind proposes the request's new placements.
func (e *nativeExchange) bind(effect *flow.Effect) {
	number, message := effect.Call, wire.AppendBindRequest(nil, effect.Bind)
	e.call(wire.BindPath, message, effect.Bind.TimeoutMillis, func(reply []byte) *flow.Event {
		ev := &flow.Event{Kind: flow.EventBound, Call: number}
		if decoded, err := wire.DecodeBindReply(reply); err == nil && reply != nil {
			ev.Bound = decoded
		}
		return ev
	})
}

// call makes one call. Its answer, or that none came in time, reaches the request
// once the present event is dealt with.
func (e *nativeExchange) call(path string, message []byte, timeoutMillis uint32, event func(reply []byte) *flow.Event) {
	open := true
	answer := func(reply []byte) {
		e.filter.queue = append(e.filter.queue, func() {
			if !open {
				return
			}
			open = false
			if ev := event(reply); !e.over {
				ev.Now = e.filter.now()
				e.step(ev)
			}
		})
	}
	e.filter.env.Clock.AfterFunc(time.Duration(timeoutMillis)*time.Millisecond, func() { answer(nil) })
	e.filter.env.Service.Call(path, message, func(reply []byte, ok bool) {
		if !ok {
			reply = nil
		} else if reply == nil {
			reply = []byte{}
		}
		answer(reply)
	})
}

// runQueue brings answers to their requests.
func (f *nativeFilter) runQueue() {
	for len(f.queue) > 0 {
		next := f.queue[0]
		f.queue = f.queue[1:]
		next()
	}
}
