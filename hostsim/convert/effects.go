package convert

import (
	"slices"
	"strings"
)

// effects refuses flags that would have no effect or contradict each other, as
// upstream does at startup (engine-selection.md 2.7, 2.8 and 18).
func (c *converter) effects() {
	for _, name := range c.line.order {
		f := c.line.given[name].flag
		switch {
		case f.Fate == Refused:
		case f.attaches && c.line.has("--reorg-config"):
			c.refuse(name, "contradicts --reorg-config, which attaches policies itself", "the keys of that file, and leave the flag out")
		case f.needs != "" && !c.needed(f.needs):
			c.refuse(name, "has no effect without "+f.needs, f.needs+", or leave it out")
		case f.policies != nil && !c.read(f):
			c.refuse(name, "has no effect with --policy "+c.policyName(), "--policy "+strings.Join(f.policies, " or ")+", or leave it out")
		}
	}
	c.contradictions()
	c.orders()
	if c.line.text("--chat-routing") == "reorg" {
		c.reorgRules()
	}
}

// needed reports whether a flag, or a flag with a value, is given.
func (c *converter) needed(what string) bool {
	name, value, valued := strings.Cut(what, " ")
	return c.line.has(name) && (!valued || slices.Contains(c.line.texts(name), value))
}

// read reports whether a policy in use reads the flag.
func (c *converter) read(f *Flag) bool {
	return slices.Contains(f.policies, c.policyName()) || c.pd() && slices.Contains(f.policies, c.decodePolicyName())
}

func (c *converter) contradictions() {
	has := c.line.has
	if has("--worker-urls") && has("--service-discovery") {
		c.refuse("--worker-urls", "contradicts --service-discovery: a fleet has one source", "one of the two")
	}
	if has("--prefill-selector") != has("--decode-selector") {
		c.refuse("--prefill-selector", "prefill and decode engines are found together", "both --prefill-selector and --decode-selector")
	} else if p := sortedTerms(c.line.texts("--prefill-selector")); len(p) > 0 && slices.Equal(p, sortedTerms(c.line.texts("--decode-selector"))) {
		c.refuse("--decode-selector", "is the same as --prefill-selector", "selectors that differ")
	}
	if has("--decode-policy") && !c.pd() && !has("--bucket-config") && !has("--reorg-config") {
		c.refuse("--decode-policy", "has no effect: no decode engines are known from this command line, and the roles of engines given by URL are known to the state service only",
			"--service-discovery with --prefill-selector and --decode-selector, or leave it out")
	}
	if slices.Contains(c.line.texts("--filter"), "overloaded") && !has("--max-in-flight") {
		c.refuse("--filter overloaded", "has no effect without --max-in-flight", "--max-in-flight N as well, or leave it out")
	}
	switch provider := c.line.text("--cache-prefix-provider"); {
	case provider == "indexer" && !has("--kv-indexer-endpoint"):
		c.refuse("--cache-prefix-provider indexer", "has no effect without --kv-indexer-endpoint", "--kv-indexer-endpoint URL as well, or leave it out")
	case provider == "radix_tree" && has("--kv-indexer-endpoint"):
		c.refuse("--kv-indexer-endpoint", "has no effect with --cache-prefix-provider radix_tree", "one of the two")
	}
	if has("--disable-pressure-guard") {
		for _, name := range []string{"--pressure-abs-threshold-tokens", "--pressure-abs-threshold-ms", "--pressure-rel-threshold", "--cache-switch-margin-tokens"} {
			if has(name) {
				c.refuse(name, "has no effect with --disable-pressure-guard", "one of the two")
			}
		}
	}
	if has("--reorg-config") && c.line.text("--chat-routing") == "legacy" {
		c.refuse("--chat-routing legacy", "contradicts --reorg-config", "--chat-routing reorg, or leave it out")
	}
}

func sortedTerms(list []string) []string {
	var terms []string
	for _, s := range list {
		for term := range strings.SplitSeq(s, ",") {
			terms = append(terms, strings.Replace(strings.TrimSpace(term), "==", "=", 1))
		}
	}
	slices.Sort(terms)
	return slices.Compact(terms)
}

// orders checks settings that bound each other, defaults included.
func (c *converter) orders() {
	for _, o := range []struct {
		low, high       string
		lowDef, highDef uint64
	}{
		{"--cache-candidate-min-workers", "--cache-candidate-max-workers", 8, 32},
		{"--saturation-queue-floor", "--worker-queue-limit", 0, 0},
	} {
		low, lowGiven := c.line.given[o.low]
		high, highGiven := c.line.given[o.high]
		least, most := o.lowDef, o.highDef
		if lowGiven {
			least = low.count
		}
		if highGiven {
			most = high.count
		}
		if (!lowGiven && !highGiven) || most == 0 || least <= most {
			continue
		}
		name := o.low
		if !lowGiven {
			name = o.high
		}
		c.refuse(name, o.low+" "+formatCount(least)+" is above "+o.high+" "+formatCount(most), "values in order")
	}
}

// reorgRules are upstream's own refusals under --chat-routing reorg.
func (c *converter) reorgRules() {
	const without = "the same line without --chat-routing reorg"
	if !slices.Contains([]string{powerOfN, cacheAware, sessionAware}, c.policyName()) {
		c.refuse("--policy "+c.policyName(), "cannot be had with --chat-routing reorg", without)
	}
	if c.line.has("--decode-policy") && c.line.text("--decode-policy") != powerOfN {
		c.refuse("--decode-policy "+c.line.text("--decode-policy"), "cannot be had with --chat-routing reorg", "--decode-policy "+powerOfN)
	}
	if c.line.has("--bucket-config") {
		c.refuse("--bucket-config", "cannot be had with --chat-routing reorg", without+", or --reorg-config")
	}
	if g := c.line.given["--min-load-choices"]; g != nil && g.count != 2 {
		c.refuse("--min-load-choices", "must be 2 with --chat-routing reorg", without)
	}
}
