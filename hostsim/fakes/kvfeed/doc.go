// Package kvfeed is an engine's ZMQ publisher: a PUB socket with numbered messages and a
// ROUTER socket that replays them, as SGLang and vLLM have it (fixtures/README.md section
// 2, Publisher and Replay). Handshake and framing are zmq4's; its own PUB socket is not
// used, since it queues without a limit, lets one slow subscriber stop all, and leaves
// its goroutine behind.
package kvfeed
