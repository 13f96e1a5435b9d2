// Package core is the vocabulary of Pointsman's routing core: the words that
// buckets, policies, admission and the request machine share.
//
// Everything under core is pure. It has no clock, no I/O, no goroutine, no lock
// and no global randomness: instants, random sources and observations are
// arguments. The same story therefore gives the same bytes natively and inside
// filter.wasm.
//
// # Glossary
//
//   - engine, worker: one HTTP endpoint that serves models (SGLang, vLLM).
//   - stage: the role an engine plays for a request: plain, prefill or decode.
//   - bucket: a range of request lengths with the engine groups that serve it.
//   - engine group: the members of a bucket for one stage, and their policy.
//   - policy: picks one engine of a group's candidates, admission included.
//   - admission: hard per-engine caps on observed load; a cap admits below it.
//   - pick: the chosen engine and the reason it was chosen.
//   - peak: input tokens plus requested output tokens, when the output is known.
//   - report: what an engine says of its own load; native when it carries the
//     fields of engine-selection.md 5.2, else basic.
//   - in-flight: requests sent to an engine and not finished; always known.
//   - generation: one life of an engine; a restart begins the next one.
//   - key: what a request is kept together by: a session, a routing key or the
//     start of its prompt; its home is the engine that the key belongs to.
//   - charge: the in-flight unit a request holds on a worker until it ends.
//   - fleet: the engines a proxy may route to, as the state service names them.
//
// # Invariants
//
//	I1  A picked engine is one of the candidates its policy was given, the same object.
//	I2  Both engines of a prefill/decode pair come from one bucket.
//	I3  Nothing is charged, claimed or sent before the whole selection is complete.
//	I4  An unknown observation is never treated as zero.
//	I5  Missing candidates and admission rejection advance to the next bucket;
//	    every other failure stops the request.
//	I6  A charge is released exactly once, whatever ended the request.
//	I7  A release counts only for the generation it was charged to.
//	I8  No decision depends on map iteration order.
package core
