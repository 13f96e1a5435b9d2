package kvwire

import "github.com/tinylib/msgp/msgp"

// LoadTopic is the topic of SGLang's load socket.
const LoadTopic = "load"

// Load is one reading of one rank (engine-selection.md 5.2).
type Load struct {
	Running, Waiting int // requests
	KVUsed           int // tokens
	KVCapacity       int // tokens
	Rank             int
	WaitingUncached  int // prompt tokens
	KVTotal          int // tokens, those of waiting prompts too
	MaxRunning       int
	PrefillTokens    int64 // uncached ones, since the start
	PrefillMicros    int64 // microseconds spent on them
}

// Payload is the reading as SGLang 0.5.23 sends it.
func (l Load) Payload() []byte {
	b := msgp.AppendString(msgp.AppendArrayHeader(nil, 11), "LoadStat")
	for _, n := range []int64{
		int64(l.Running), int64(l.Waiting), int64(l.KVUsed), int64(l.KVCapacity), int64(l.Rank), int64(l.WaitingUncached),
		int64(l.KVTotal), int64(l.MaxRunning), l.PrefillTokens, l.PrefillMicros,
	} {
		b = msgp.AppendUint64(b, uint64(max(n, 0)))
	}
	return b
}
