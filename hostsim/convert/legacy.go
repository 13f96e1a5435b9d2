package convert

import (
	"encoding/json"
	"fmt"

	"github.com/pointsman/pointsman/core/admission"
)

// entry is one entry of a legacy bucket file: the engines of one role and the
// requests for them (engine-selection.md 16).
type entry struct {
	id, stage      string
	rank           uint32
	workers        *[]string
	input          limits // *_extend_tokens
	sequence       limits // *_sequence_tokens, input and output
	context        *uint64
	ttft           *uint64
	tps            *float64
	pendingPrefill *uint64
	used           bool
}

// bucketConfig takes over a legacy bucket file. Its prefill and decode entries
// become buckets only as Options.Pairs associates them.
func (c *converter) bucketConfig(m *model) {
	f, document, ok := c.open("--bucket-config")
	var entries []*entry
	if ok {
		f.object("", document, map[string]field{
			"buckets": f.list(func(at string, raw json.RawMessage) {
				if e := f.entry(at, raw); e != nil {
					entries = append(entries, e)
				}
			}),
			"ttft_slo_policy": f.text(&m.TTFTSLO),
			"tps_slo_policy":  f.text(&m.TPSSLO),
		})
		f.assemble(m, entries)
	}
	if len(m.Buckets) == 0 {
		if ok && len(entries) == 0 {
			f.refuse("buckets", "no bucket", "at least one")
		}
		m.Buckets = c.placeholder()
	}
}

func (f *file) entry(at string, raw json.RawMessage) *entry {
	e := &entry{}
	f.object(at, raw, map[string]field{
		"id": f.text(&e.id), "stage": f.text(&e.stage), "rank": value(f, &e.rank, "a whole number from 0 to 4294967295"),
		"worker_ids":        f.workers(&e.workers),
		"min_extend_tokens": f.count(&e.input.Min), "max_extend_tokens": f.count(&e.input.Max),
		"min_sequence_tokens": f.count(&e.sequence.Min), "max_sequence_tokens": f.count(&e.sequence.Max),
		"max_context_tokens":         f.count(&e.context),
		"ttft_p95_at_capacity_ms":    f.millis(&e.ttft),
		"tps_p05_at_capacity":        f.number(&e.tps),
		"max_pending_prefill_tokens": f.count(&e.pendingPrefill),
	})
	if e.stage != "plain" && e.stage != "prefill" && e.stage != "decode" {
		f.refuse(at+".stage", "must be plain, prefill or decode", "")
		return nil
	}
	if e.sequence.Min != nil && *e.sequence.Min > 0 {
		f.refuse(at+".min_sequence_tokens", "a bucket has no lower bound on input plus output", "min_extend_tokens of the prefill or plain entry, and leave it out here")
	}
	if e.stage == "decode" && e.input != (limits{}) {
		f.refuse(at, "a range of extend tokens on a decode entry has no counterpart: a bucket has one range of input tokens", "the range of the prefill entry")
	}
	if e.stage == "prefill" && e.tps != nil {
		f.refuse(at+".tps_p05_at_capacity", "the rate of a pair is that of its decode entry", "leave it out here")
	}
	if e.stage == "decode" && e.ttft != nil {
		f.refuse(at+".ttft_p95_at_capacity_ms", "the time to the first token of a pair is that of its prefill entry", "leave it out here")
	}
	return e
}

// assemble makes buckets of plain entries and of associated pairs.
func (f *file) assemble(m *model, entries []*entry) {
	pairs := f.pairs(entries)
	decodes := false
	for _, e := range entries {
		switch e.stage {
		case "plain":
			b := e.bucket(e.id)
			b.Groups.Plain = &group{WorkerIDs: e.workers, Policy: f.capped(f.c.policy(), e)}
			m.Buckets = append(m.Buckets, b)
		case "prefill":
			if d := pairs[e]; d != nil {
				m.Buckets = append(m.Buckets, f.pair(e, d))
			} else {
				f.unpaired(e, "decode", e.id+"=DECODE_ID")
			}
		case "decode":
			decodes = true
			if !e.used {
				f.unpaired(e, "prefill", "PREFILL_ID="+e.id)
			}
		}
	}
	if !decodes && f.c.line.has("--decode-policy") {
		f.c.refuse("--decode-policy", "has no effect: the file has no decode entry", "leave it out")
	}
}

func (f *file) unpaired(e *entry, other, example string) {
	f.refuse("", fmt.Sprintf("%s entry %q is not associated with a %s entry, and neither rank nor name says with which", e.stage, e.id, other),
		"hostsim convert --pair "+example+" -- ...")
}

// pairs finds the entries that Options.Pairs names, by prefill entry.
func (f *file) pairs(entries []*entry) map[*entry]*entry {
	found := map[*entry]*entry{}
	for _, p := range f.c.options.Pairs {
		flag := "--pair " + p.Prefill + "=" + p.Decode
		prefill, decode := find(entries, "prefill", p.Prefill), find(entries, "decode", p.Decode)
		switch {
		case prefill == nil:
			f.c.refuse(flag, fmt.Sprintf("the file has no prefill entry %q", p.Prefill), "the id of one")
		case decode == nil:
			f.c.refuse(flag, fmt.Sprintf("the file has no decode entry %q", p.Decode), "the id of one")
		case prefill.used || decode.used:
			f.c.refuse(flag, "an entry is in one pair only", "one --pair for each")
		case prefill.rank != decode.rank:
			f.c.refuse(flag, fmt.Sprintf("rank %d of prefill and rank %d of decode differ, and a bucket has one", prefill.rank, decode.rank), "equal ranks in the file")
			fallthrough
		default:
			prefill.used, decode.used = true, true
			found[prefill] = decode
		}
	}
	return found
}

func find(entries []*entry, stage, id string) *entry {
	for _, e := range entries {
		if e.stage == stage && e.id == id {
			return e
		}
	}
	return nil
}

// pair makes one bucket of a prefill and a decode entry. A request must fit both,
// so the smaller capacity counts.
func (f *file) pair(prefill, decode *entry) bucket {
	id := prefill.id
	if decode.id != id {
		id += "+" + decode.id
	}
	b := prefill.bucket(id)
	b.MaxContext = least(b.MaxContext, decode.bucket("").MaxContext)
	b.TokensPerSecond = decode.tps
	b.Groups.PD = &pd{
		Prefill: group{WorkerIDs: prefill.workers, Policy: f.capped(f.c.policy(), prefill)},
		Decode:  group{WorkerIDs: decode.workers, Policy: f.capped(f.c.decodePolicy(), decode)},
	}
	return b
}

func (e *entry) bucket(id string) bucket {
	b := bucket{ID: id, Rank: e.rank, MaxContext: least(e.context, e.sequence.Max), TTFTMillis: e.ttft, TokensPerSecond: e.tps}
	if e.input != (limits{}) {
		l := e.input
		b.Limits = &l
	}
	return b
}

// capped adds the entry's own budget to a policy.
func (f *file) capped(p policy, e *entry) policy {
	if e.pendingPrefill == nil {
		return p
	}
	var l admission.Limits
	if p.Admission != nil {
		l = *p.Admission
	}
	l.MaxPendingPrefillTokens = e.pendingPrefill
	p.Admission = &l
	f.c.note(f.flag, "max_pending_prefill_tokens was compared with the waiting tokens and the request's own; here it is compared with the waiting tokens alone")
	return p
}

// least is the smaller of two bounds that may be missing.
func least(a, b *uint64) *uint64 {
	if a == nil || b != nil && *b < *a {
		return b
	}
	return a
}
