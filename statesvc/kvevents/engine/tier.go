package engine

import "github.com/pointsman/pointsman/statesvc/kvevents"

// longestName is the longest medium or kind that is told apart.
const longestName = 24

// folded writes the lower case of an ASCII name into buf.
func folded(name []byte, buf *[longestName]byte) []byte {
	if len(name) > longestName {
		return nil
	}
	for i, c := range name {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		buf[i] = c
	}
	return buf[:len(name)]
}

// tier maps a medium: vLLM says GPU, CPU and STORAGE, its Mooncake connector in lower
// case; SGLang says GPU, CPU_PINNED, DISK and EXTERNAL (fixtures/README.md 2 and 5), and
// said CPU_TIER1 and CPU_TIER2 in the past (field report C49).
func tier(medium []byte) kvevents.Tier {
	var buf [longestName]byte
	name := folded(medium, &buf)
	switch string(name) {
	case "gpu":
		return kvevents.TierDevice
	case "cpu", "cpu_pinned", "cpu_tier1":
		return kvevents.TierHost
	case "disk", "storage", "cpu_tier2":
		return kvevents.TierDisk
	case "external":
		return kvevents.TierExternal
	case "":
		if len(medium) == 0 {
			return kvevents.TierNone
		}
	}
	return kvevents.TierUnknown
}

// scope maps a kind of cache group. Only kinds that keep every block are full; a kind
// nobody knows is taken for one that does not (field report C10).
func scope(kind []byte) kvevents.Scope {
	var buf [longestName]byte
	switch string(folded(kind, &buf)) {
	case "full_attention", "mla_attention", "sink_full_attention":
		return kvevents.ScopeFull
	case "sliding_window", "sliding_window_mla":
		return kvevents.ScopeWindow
	case "":
		if len(kind) == 0 {
			return kvevents.ScopeUnsaid
		}
	}
	return kvevents.ScopeOther
}

// remote reads a locality (vLLM from 0.26.0): LOCAL or REMOTE.
func remote(locality []byte) bool {
	var buf [longestName]byte
	return string(folded(locality, &buf)) == "remote"
}
