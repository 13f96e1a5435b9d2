// Package zmqsub follows the event and load sockets of engines over ZMQ
// (engine-selection.md 10.2, 10.4 and 10.5; fixtures/README.md section 2). It is the
// only package that knows ZMQ.
//
// A [Stream] follows the KV events of one rank: a SUB socket that is dialled again
// whenever it breaks, a bounded queue, the rules of sequence numbers, and replays over a
// DEALER socket. It delivers batches in order, each once, and says how far what it
// delivered can be trusted, and why not further. A [Feed] follows a socket whose last
// message counts, such as SGLang's load reports.
//
// # Order
//
//   - The batch after the last one is delivered. One that was delivered already, which is
//     told by its number and content, is ignored.
//   - A later one is a gap: the missing ones are asked for and delivered first. What a
//     replay does not give is lost, and the stream is delivered on without it.
//   - Every replay begins with the last batch that was delivered, to tell the process that
//     answers: it may be a later one than that whose messages wait in the queue.
//   - An earlier one with another content is a new process: the sink is reset and the
//     stream begins anew, with a replay from number 0.
//   - Whenever the socket connects, and now and then while it is silent, the last batch is
//     asked for again. That finds batches that went missing at the end, and a process
//     that began anew: it does not know the batch, or knows another by its number.
//
// With a replay socket nothing of a new connection is delivered before that, for what is
// next by its number may be another process's; only when replays fail for seconds it is,
// with trust lowered. Without one, the next number is taken for a sign that all is well.
//
// A subscriber that came late asks for everything from number 0, and so does one that
// lost batches: when the engine still has number 0, the sink is reset and delivered
// everything once more.
//
// # Trust
//
// See [Reason]. Trust is full when everything since the cache was last known to be empty
// was delivered: batch 0, or a batch that cleared it.
//
// # Log
//
// A line says when trust changes and when a socket is not reached, with what to look at,
// or is reached again; at most one of each a second, and in the end always what is so.
// That an idle engine is asked for news is none.
//
// # Bounds
//
// Memory is Options.QueueMessages and QueueBytes, as many bytes again during a replay, one
// message of MaxMessageBytes for each, and 8 KB. A message that does not fit into the queue
// is dropped, and thereby a gap. Replies of a replay are read at once, since engines drop
// what is not, and a replay that is longer than what may wait is asked for in parts. One is
// under way at a time; they have a pause between them that grows while they are of no use,
// and end when no reply comes for ReplayTimeout. A stream whose numbers run backwards again
// and again is fenced until it is quiet.
//
// The ZMQ library makes greetings and sends; what a peer says is read here, since the
// library allocates whatever size a peer names, and panics on some malformed metadata.
package zmqsub
