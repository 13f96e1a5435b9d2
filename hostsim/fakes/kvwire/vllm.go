package kvwire

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/pointsman/pointsman/hostsim/fakes/kvcache"
	"github.com/tinylib/msgp/msgp"
)

// Release is a version of vLLM.
type Release [3]int

// The releases that changed the encoding, as far as it is used here (fixtures/README.md
// section 2, Releases). Some borders are only known to lie at or below the one given.
var (
	mediumFrom   = Release{0, 10, 2}
	loraNameFrom = Release{0, 14, 1}
	extraFrom    = Release{0, 18, 1}
	groupFrom    = Release{0, 20, 2}
	kindFrom     = Release{0, 22, 1}
	mapsFrom     = Release{0, 24, 0}
	topicFrom    = Release{0, 26, 0} // of replay replies, and locality
)

// ParseRelease reads a version such as 0.32.0 or 0.22.1.dev3.
func ParseRelease(version string) (Release, error) {
	var r Release
	parts := strings.Split(version, ".")
	for i := range min(len(parts), len(r)) {
		n, err := strconv.ParseUint(parts[i], 10, 16)
		if err != nil {
			return Release{}, fmt.Errorf("%q is not a version like 0.32.0", version)
		}
		r[i] = int(n)
	}
	if r == (Release{}) {
		return Release{}, fmt.Errorf("%q is not a version like 0.32.0", version)
	}
	return r, nil
}

func (r Release) before(o Release) bool {
	for i := range r {
		if r[i] != o[i] {
			return r[i] < o[i]
		}
	}
	return false
}

// ReplayTopic reports whether replies of the replay socket have a topic frame.
func (r Release) ReplayTopic() bool { return !r.before(topicFrom) }

// UnfilledLast is the form of kvcache.Config.UnfilledLast: one of the two recorded
// releases does it; where between them it changed is not known.
func (r Release) UnfilledLast() bool { return r.before(Release{0, 23, 0}) }

func medium(t kvcache.Tier) string {
	return [...]string{kvcache.Device: "GPU", kvcache.Host: "CPU"}[t]
}

// placeholder reports an event of the offload tier, which knows blocks by name only.
func placeholder(ev *kvcache.Event) bool { return ev.Tier == kvcache.Host }

// vllm is the map form.
func (e *Encoder) vllm(b []byte, ev *kvcache.Event) []byte {
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
		p.key("lora_id").b = e.loraID(p.b, ev)
	}
	p.text("medium", medium(ev.Tier))
	if ev.Kind == kvcache.Stored {
		p.key("lora_name").b = loraName(p.b, ev)
		if !placeholder(ev) {
			p.key("extra_keys").b = extraKeys(p.b, ev)
		}
	}
	p.key("group_idx").b = msgp.AppendUint64(p.b, 0)
	if ev.Kind == kvcache.Stored && !placeholder(ev) {
		p.text("kv_cache_spec_kind", "full_attention")
	}
	if placeholder(ev) && !e.VLLM.before(topicFrom) {
		p.text("locality", "LOCAL")
	}
	return p.closed(b)
}

// array is the form before maps.
func (e *Encoder) array(b []byte, ev *kvcache.Event) []byte {
	var fields [][]byte
	add := func(from Release, field []byte) {
		if !e.VLLM.before(from) {
			fields = append(fields, field)
		}
	}
	none := msgp.AppendNil(nil)
	add(Release{}, msgp.AppendString(nil, tag(ev.Kind)))
	switch ev.Kind {
	case kvcache.Removed:
		add(Release{}, e.hashes(nil, ev.Hashes))
		add(mediumFrom, msgp.AppendString(nil, medium(ev.Tier)))
		add(groupFrom, msgp.AppendUint64(nil, 0))
	case kvcache.Stored:
		add(Release{}, e.hashes(nil, ev.Hashes))
		add(Release{}, e.parent(nil, ev.Parent))
		add(Release{}, tokens(nil, ev.Tokens))
		add(Release{}, msgp.AppendUint64(nil, uint64(ev.BlockSize)))
		add(Release{}, e.loraID(nil, ev))
		add(mediumFrom, msgp.AppendString(nil, medium(ev.Tier)))
		add(loraNameFrom, loraName(nil, ev))
		keys, kind := extraKeys(nil, ev), msgp.AppendString(nil, "full_attention")
		if placeholder(ev) {
			keys, kind = none, none
		}
		add(extraFrom, keys)
		add(groupFrom, msgp.AppendUint64(nil, 0))
		add(kindFrom, kind)
		add(kindFrom, none) // the window
	case kvcache.Cleared:
	}
	b = msgp.AppendArrayHeader(b, uint32(len(fields)))
	for _, f := range fields {
		b = append(b, f...)
	}
	return b
}

func (e *Encoder) loraID(b []byte, ev *kvcache.Event) []byte {
	id, ok := e.LoRAIDs[ev.Namespace.LoRA]
	if !ok || placeholder(ev) {
		return msgp.AppendNil(b)
	}
	return msgp.AppendUint64(b, uint64(id))
}

func loraName(b []byte, ev *kvcache.Event) []byte {
	if ev.Namespace.LoRA == "" || placeholder(ev) {
		return msgp.AppendNil(b)
	}
	return msgp.AppendString(b, ev.Namespace.LoRA)
}

// extraKeys are, for each block, the adapter's name and, for the first of a prompt, the
// salt.
func extraKeys(b []byte, ev *kvcache.Event) []byte {
	b = msgp.AppendArrayHeader(b, uint32(len(ev.Hashes)))
	for i := range ev.Hashes {
		var keys []string
		if ev.Namespace.LoRA != "" {
			keys = append(keys, ev.Namespace.LoRA)
		}
		if ev.Namespace.Salt != "" && i == 0 && ev.Parent == nil {
			keys = append(keys, ev.Namespace.Salt)
		}
		if len(keys) == 0 {
			b = msgp.AppendNil(b)
			continue
		}
		b = msgp.AppendArrayHeader(b, uint32(len(keys)))
		for _, k := range keys {
			b = msgp.AppendString(b, k)
		}
	}
	return b
}
