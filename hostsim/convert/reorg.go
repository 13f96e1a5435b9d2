package convert

import (
	"encoding/json"
	"slices"

	"github.com/pointsman/pointsman/core/spec"
)

// reorgConfig takes over the buckets of an explicit bucket file
// (engine-selection.md 2.7).
func (c *converter) reorgConfig(m *model) {
	var indexer string
	f, document, ok := c.open("--reorg-config")
	if ok {
		f.object("", document, map[string]field{
			"buckets":    f.list(func(at string, raw json.RawMessage) { m.Buckets = append(m.Buckets, f.bucket(at, raw)) }),
			"ttft_slo":   f.text(&m.TTFTSLO),
			"tps_slo":    f.text(&m.TPSSLO),
			"session":    f.session,
			"kv_indexer": func(at string, raw json.RawMessage) { indexer = f.kvIndexer(at, raw) },
		})
		f.remote(m, indexer)
	}
	if len(m.Buckets) == 0 {
		if ok {
			f.refuse("buckets", "no bucket", "at least one")
		}
		m.Buckets = c.placeholder()
	}
}

// kvIndexer reads where the indexer is. Its limits are the state service's.
func (f *file) kvIndexer(at string, raw json.RawMessage) (url string) {
	var timeout, inflight *uint64
	f.object(at, raw, map[string]field{"url": f.text(&url), "query_timeout_ms": f.count(&timeout), "query_max_inflight": f.count(&inflight)})
	if url == "" {
		f.refuse(join(at, "url"), "is missing", "the indexer's URL")
	}
	for _, l := range []struct {
		key, own string
		value    *uint64
	}{{"query_timeout_ms", "timeout_ms", timeout}, {"query_max_inflight", "max_inflight", inflight}} {
		switch {
		case l.value == nil:
		case *l.value == 0:
			f.refuse(join(at, l.key), "0 is out of range", "at least 1")
		default:
			f.c.note(f.flag, "%s belongs to %s`kv.remote.%s` of its configuration", join(at, l.key), stateService, l.own)
		}
	}
	return url
}

// remote makes all that goes by caches go by an indexer, when the file names one.
func (f *file) remote(m *model, url string) {
	if url == "" {
		return
	}
	used := false
	for i := range m.Buckets {
		for _, p := range m.Buckets[i].Groups.policies() {
			if p.Type == cacheAware {
				f.c.remote(p, f.flag, url)
				used = true
			}
		}
	}
	if !used {
		f.refuse("kv_indexer", "has no effect without a group of the policy cache_aware", "one, or leave it out")
	}
}

// placeholder stands in for buckets that could not be read, so that the rest can
// be checked.
func (c *converter) placeholder() []bucket {
	return []bucket{{ID: "plain", Groups: groups{Plain: &group{Policy: policy{Type: spec.PolicyPowerOfTwo}}}}}
}

func (f *file) bucket(at string, raw json.RawMessage) (b bucket) {
	var l limits
	f.object(at, raw, map[string]field{
		"id":                 f.text(&b.ID),
		"rank":               value(f, &b.Rank, "a whole number from 0 to 4294967295"),
		"min_input_tokens":   f.count(&l.Min),
		"max_input_tokens":   f.count(&l.Max),
		"max_context_tokens": f.count(&b.MaxContext),
		"ttft_ms":            f.millis(&b.TTFTMillis),
		"tokens_per_second":  f.number(&b.TokensPerSecond),
		"groups":             func(at string, raw json.RawMessage) { b.Groups = f.groups(at, raw) },
	})
	if l != (limits{}) {
		b.Limits = &l
	}
	return b
}

func (f *file) groups(at string, raw json.RawMessage) (g groups) {
	var mode string
	var plain, prefill, decode *group
	into := func(dst **group) field {
		return func(at string, raw json.RawMessage) {
			one := f.group(at, raw)
			*dst = &one
		}
	}
	f.object(at, raw, map[string]field{
		"mode": f.text(&mode), "plain": into(&plain), "prefill": into(&prefill), "decode": into(&decode),
	})
	switch {
	case mode == "plain" && plain != nil && prefill == nil && decode == nil:
		g.Plain = plain
	case mode == "pd" && plain == nil && prefill != nil && decode != nil:
		g.PD = &pd{Prefill: *prefill, Decode: *decode}
	default:
		f.refuse(at, `a bucket is plain or pd`, `"mode": "plain" with "plain", or "mode": "pd" with "prefill" and "decode"`)
		g.Plain = f.c.placeholder()[0].Groups.Plain
	}
	return g
}

func (f *file) group(at string, raw json.RawMessage) (g group) {
	var name string
	f.object(at, raw, map[string]field{
		"worker_ids":      f.workers(&g.WorkerIDs),
		"worker_services": f.services(&g.WorkerServices),
		"policy":          f.text(&name),
		"admission":       f.limits(&g.Policy.Admission),
	})
	known := []string{powerOfTwo, powerOfN, cacheAware, sessionAware}
	if !slices.Contains(known, name) {
		f.refuse(join(at, "policy"), "must be a policy of such a file", "power_of_two, cache_aware or session_aware")
	}
	g.Policy.Type = name
	if name == powerOfN || !slices.Contains(known, name) {
		g.Policy.Type = spec.PolicyPowerOfTwo
	}
	return g
}

// session takes over the binding of sessions. The sweeper is the state service's.
func (f *file) session(at string, raw json.RawMessage) {
	h := &keyHeader{}
	var eviction *uint64
	f.object(at, raw, map[string]field{
		"header": f.text(&h.Header), "idle_secs": f.count(&h.IdleSecs), "eviction_interval_secs": f.count(&eviction),
	})
	if h.IdleSecs != nil && *h.IdleSecs == 0 {
		f.refuse(at+".idle_secs", "0 is out of range", "at least 1")
	}
	if eviction != nil {
		if *eviction == 0 {
			f.refuse(at+".eviction_interval_secs", "0 is out of range", "at least 1")
		}
		f.c.note(f.flag, "%s.eviction_interval_secs belongs to %sit drops idle bindings in its own time", at, stateService)
	}
	if h.Header == "x-session-id" {
		h.Header = ""
	}
	if h.IdleSecs != nil && *h.IdleSecs == 600 {
		h.IdleSecs = nil
	}
	if *h != (keyHeader{}) {
		f.c.doc.Session = h
	}
}

// preferences writes down a preference that is off by default beside estimates,
// which would be refused alone.
func (m *model) preferences() {
	for i := range m.Buckets {
		if m.Buckets[i].TTFTMillis != nil && m.TTFTSLO == "" {
			m.TTFTSLO = "disabled"
		}
		if m.Buckets[i].TokensPerSecond != nil && m.TPSSLO == "" {
			m.TPSSLO = "disabled"
		}
	}
}
