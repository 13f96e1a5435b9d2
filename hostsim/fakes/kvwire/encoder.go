package kvwire

import (
	"github.com/pointsman/pointsman/hostsim/fakes/kvcache"
	"github.com/tinylib/msgp/msgp"
)

// Encoder encodes for one dialect. Its zero value is SGLang's.
type Encoder struct {
	// VLLM is the release whose form is used; zero is SGLang.
	VLLM Release
	// ByteHashes sends whole digests, as vLLM does with
	// VLLM_KV_EVENTS_USE_INT_BLOCK_HASHES=0.
	ByteHashes bool
	// LoRAIDs are vLLM's numbers of adapters.
	LoRAIDs map[string]int
}

// Batch is the payload of one engine step. The time is in seconds since 1970.
func (e *Encoder) Batch(at float64, events []kvcache.Event, rank int) []byte {
	b := msgp.AppendArrayHeader(nil, 3)
	b = msgp.AppendFloat64(b, at)
	b = msgp.AppendArrayHeader(b, uint32(len(events)))
	for i := range events {
		switch {
		case e.VLLM == Release{}:
			b = e.sglang(b, &events[i])
		case e.VLLM.before(mapsFrom):
			b = e.array(b, &events[i])
		default:
			b = e.vllm(b, &events[i])
		}
	}
	return msgp.AppendUint64(b, uint64(rank))
}

// tags are the names of kinds.
func tag(k kvcache.Kind) string {
	switch k {
	case kvcache.Stored:
		return "BlockStored"
	case kvcache.Removed:
		return "BlockRemoved"
	case kvcache.Cleared:
	}
	return "AllBlocksCleared"
}

// pairs is a map under way.
type pairs struct {
	b []byte
	n uint32
}

func (p *pairs) key(name string) *pairs {
	p.b = msgp.AppendString(p.b, name)
	p.n++
	return p
}

// text adds a text, or nothing for "".
func (p *pairs) text(name, value string) {
	if value != "" {
		p.key(name).b = msgp.AppendString(p.b, value)
	}
}

// closed is the map behind b.
func (p *pairs) closed(b []byte) []byte { return append(msgp.AppendMapHeader(b, p.n), p.b...) }

func (e *Encoder) sglang(b []byte, ev *kvcache.Event) []byte {
	var p pairs
	p.text("type", tag(ev.Kind))
	if ev.Kind == kvcache.Cleared {
		return p.closed(b)
	}
	p.key("block_hashes").b = e.hashes(p.b, ev.Hashes)
	if ev.Kind == kvcache.Stored {
		p.key("parent_block_hash").b = e.parent(p.b, ev.Parent)
		p.key("token_ids").b = tokens(p.b, ev.Tokens)
		p.key("block_size").b = msgp.AppendUint64(p.b, uint64(ev.BlockSize))
		p.key("lora_id").b = msgp.AppendNil(p.b)
	}
	p.text("medium", [...]string{kvcache.Device: "GPU", kvcache.Host: "CPU_PINNED"}[ev.Tier])
	if ev.Kind == kvcache.Stored {
		p.text("cache_salt", ev.Namespace.Salt)
		p.text("lora_name", ev.Namespace.LoRA)
	}
	return p.closed(b)
}

func (e *Encoder) hashes(b []byte, list []kvcache.Hash) []byte {
	b = msgp.AppendArrayHeader(b, uint32(len(list)))
	for i := range list {
		b = e.hash(b, &list[i])
	}
	return b
}

func (e *Encoder) parent(b []byte, h *kvcache.Hash) []byte {
	if h == nil {
		return msgp.AppendNil(b)
	}
	return e.hash(b, h)
}

func (e *Encoder) hash(b []byte, h *kvcache.Hash) []byte {
	switch {
	case e.VLLM == Release{} && h.First64() < 0:
		return msgp.AppendInt64(b, h.First64())
	case e.VLLM == Release{}:
		return msgp.AppendUint64(b, uint64(h.First64()))
	case e.ByteHashes:
		return msgp.AppendBytes(b, h[:])
	}
	return msgp.AppendUint64(b, h.Last64())
}

func tokens(b []byte, list []uint32) []byte {
	b = msgp.AppendArrayHeader(b, uint32(len(list)))
	for _, t := range list {
		b = msgp.AppendUint64(b, uint64(t))
	}
	return b
}
