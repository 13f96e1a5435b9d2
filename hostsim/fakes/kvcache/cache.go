package kvcache

// Namespace separates prompts that look alike: nothing of one is found in another.
type Namespace struct {
	Salt string
	LoRA string // an adapter's name
	// Key is SGLang's extra_key: it separates, but is neither in hashes nor in events, so
	// two namespaces give their blocks the same names (fixtures/README.md section 5).
	Key string
}

// Config of a cache.
type Config struct {
	Blocks    int // on the device; vLLM's null block is not one of them
	BlockSize int // tokens
	// HostBlocks is the size of a host tier that every stored block is copied to and
	// loaded back from; 0 is none.
	HostBlocks int
	// UnfilledLast makes a Pool's block that never filled wait for its turn like the
	// others, as vLLM 0.22.1 does; 0.32.0 hands it out next.
	UnfilledLast bool
	// Root is what the first block's hash chains to in a Pool; zero is RootHash("").
	Root Hash
}

// Cache is what an engine does with either.
type Cache interface {
	// Admit takes in a prompt and finds what is cached of it, in tokens. It fails, and
	// changes nothing lasting, when there is no room for the whole prompt.
	Admit(prompt []uint32, ns Namespace) (seq Sequence, cached int, ok bool)
	// Find tells how many tokens of a prompt Admit would find, and changes nothing: not
	// even what was used when.
	Find(prompt []uint32, ns Namespace) (cached int)
	// Reset drops everything, unless a sequence is there. It is announced with the next
	// event, as engines do (fixtures/README.md trap 4).
	Reset() bool
	// Take gives the events since the last Take, in order: one engine step. After a
	// Reset alone it gives nothing.
	Take() []Event
	// Held counts the blocks on the device that a prompt could hit, or that run.
	Held() int
}

// Sequence is a prompt and its answer under way. Whoever admitted it releases it.
type Sequence interface {
	// Schedule begins to compute up to limit more tokens of the prompt and gives those
	// that are left. Complete ends it.
	Schedule(limit int) (left int)
	Complete()
	// Report announces what was found again, as vLLM does in its report mode "full"
	// (fixtures/README.md trap 3). A Radix has no such thing.
	Report()
	// Append adds a token of the answer: all tokens before it are computed then. It
	// reports false where there is no room; the sequence has lost its blocks then.
	Append(token uint32) bool
	// Release ends the sequence; what it filled stays in the cache.
	Release()
}

// Kind says what an event tells.
type Kind uint8

// The kinds.
const (
	Stored Kind = iota + 1
	Removed
	Cleared
)

// Tier is where a block is.
type Tier uint8

// The tiers.
const (
	Device Tier = iota
	Host
)

// Event is one thing that a cache says.
type Event struct {
	Kind   Kind
	Tier   Tier
	Hashes []Hash
	// Stored only. Parent is nil at the start of a prompt. Tokens are empty where the
	// engine does not send them.
	Parent    *Hash
	Tokens    []uint32
	BlockSize int
	Namespace Namespace
}

// log collects events between two Takes.
type log struct {
	events  []Event
	pending int // clears that wait for the next event
}

func (l *log) add(e Event) {
	for ; l.pending > 0; l.pending-- {
		l.events = append(l.events, Event{Kind: Cleared})
	}
	l.events = append(l.events, e)
}

// clear drops what nobody has been told yet: it is not true any more, and the clear
// that follows says all.
func (l *log) clear() {
	l.events = nil
	l.pending++
}

func (l *log) take() []Event {
	events := l.events
	l.events = nil
	return events
}
