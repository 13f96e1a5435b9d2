// Package flow is the per-request machine: events of the host go in, effects
// for the host come out. It decides; shells obey.
//
// A Context holds what the requests of one filter context share; a Request is
// one stream. Both are single-threaded and know no clock: every event carries
// its instant. The caller's duties, in order:
//
//  1. Make a Request with Context.NewRequest for each stream.
//  2. Hand every event to Request.Step and carry out the effects it returns, in
//     order, before the next event. The list is reused by the next Step.
//  3. Hand it EventDone exactly when the stream is over, whatever ended it.
//     The Request must not be used afterwards.
//
// After a Respond effect the machine only waits for EventDone.
//
// A request that is over may have one last effect, EffectAbort, which EventDone
// returns: its engine is to be told that nobody waits for the answer.
//
// A request whose policies read what only the state service knows waits for it:
// Observe asks before the first pick, Bind stores a new placement before the
// request is sent (design section 3). The caller sends the message, hands the
// reply to Step with the effect's Call number, nil when there is none, and ticks
// while Request.Waiting. What comes late has no effect. Policies read the answers
// through Views.
package flow
