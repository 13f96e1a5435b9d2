package convert

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pointsman/pointsman/core/spec"
)

// Pair associates a prefill and a decode entry of a --bucket-config file, which
// become one bucket. POLICY_DESIGN section 7 forbids to guess it.
type Pair struct{ Prefill, Decode string }

// Options are what a command line of sgl-router does not say.
type Options struct {
	// Pairs associate entries of --bucket-config.
	Pairs []Pair
	// ReadFile reads the files that flags name. Required when a flag names one.
	ReadFile func(name string) ([]byte, error)
}

// Note is what the operator should know or do by hand.
type Note struct {
	Flag string // empty when no flag is the cause
	Text string
}

func (n Note) String() string {
	if n.Flag == "" {
		return n.Text
	}
	return n.Flag + ": " + n.Text
}

// Refusal is something that cannot be honoured.
type Refusal struct {
	Flag    string // with its value where that matters
	Reason  string
	Instead string // what to use instead; empty when the reason says it
}

func (r Refusal) String() string {
	s := r.Flag + ": " + r.Reason
	if r.Instead != "" {
		s += "; instead: " + r.Instead
	}
	return s
}

// Result is a converted command line.
type Result struct {
	// Config is the filter configuration, indented JSON. It is what the command
	// line asks for only when there are no refusals.
	Config   []byte
	Notes    []Note
	Refusals []Refusal
}

// Convert turns the flags of sgl-router into a configuration. Its error is a
// *UsageError for flags that cannot be read.
func Convert(args []string, options Options) (*Result, error) {
	c, err := undecoded(args, options)
	if err != nil {
		return nil, err
	}
	c.decode()
	return &c.result, nil
}

// undecoded converts without asking the filter's decoder.
func undecoded(args []string, options Options) (*converter, error) {
	l, err := parse(args)
	if err != nil {
		return nil, err
	}
	c := &converter{line: l, options: options, doc: document{Version: spec.Version}}
	c.fates()
	c.effects()
	c.build()
	config, err := c.doc.json()
	if err != nil {
		return nil, fmt.Errorf("write the configuration: %w", err)
	}
	c.result.Config = config
	return c, nil
}

// converter is one conversion.
type converter struct {
	line    *line
	options Options
	doc     document
	result  Result
}

func (c *converter) refuse(flag, reason, instead string) {
	r := Refusal{Flag: flag, Reason: reason, Instead: instead}
	if !slices.Contains(c.result.Refusals, r) {
		c.result.Refusals = append(c.result.Refusals, r)
	}
}

func (c *converter) note(flag, format string, args ...any) {
	n := Note{Flag: flag, Text: fmt.Sprintf(format, args...)}
	if !slices.Contains(c.result.Notes, n) {
		c.result.Notes = append(c.result.Notes, n)
	}
}

// fates settles what the table alone decides.
func (c *converter) fates() {
	for _, name := range c.line.order {
		g := c.line.given[name]
		switch g.flag.Fate {
		case Refused:
			c.refuse(name, g.flag.Reason, g.flag.To)
		case Outside:
			c.note(name, "belongs to %s", g.flag.To)
		case Converted:
		}
		for _, word := range g.texts {
			if w, ok := g.flag.dropped[word]; ok {
				c.refuse(name+" "+word, w.reason, w.instead)
			}
		}
		if (g.flag.kind == kindCount || g.flag.kind == kindNumber) && g.flag.good != nil && !g.flag.good(g.number) {
			c.refuse(name, g.texts[0]+" is out of range", "a value that is "+g.flag.bounds())
		}
	}
}

func (c *converter) build() {
	c.breaker()
	c.doc.TransportRetry = c.line.has("--enable-retry")
	if c.doc.TransportRetry {
		c.note("--enable-retry", "Envoy's route must retry too, like that of configs/envoy/override-host.yaml")
	}
	c.keys()
	m := model{Sampling: c.sampling()}
	if c.line.has("--dp-aware") {
		m.DPRanks = spec.DPRanksAlways
	}
	switch {
	case c.line.has("--reorg-config"):
		c.reorgConfig(&m)
	case c.line.has("--bucket-config"):
		c.bucketConfig(&m)
	default:
		m.Buckets = c.defaultBuckets()
	}
	m.preferences()
	if len(c.options.Pairs) > 0 && !c.line.has("--bucket-config") {
		c.refuse("--pair", "has no effect without --bucket-config", "leave it out")
	}
	if c.line.text("--chat-routing") != "reorg" && !c.line.has("--reorg-config") {
		c.note("", "legacy routing passes over engines at the capacity that they report; here only caps of \"admission\" do, and none is set for that: max_running_requests, max_kv_tokens")
	}
	c.doc.Models = map[string]model{c.line.text("--model-id"): m}
	c.fleet()
}

// decode lets the filter's own decoder judge the result, so that nothing is
// printed that a filter would not start with.
func (c *converter) decode() {
	_, err := spec.Decode(c.result.Config)
	problems, ok := errors.AsType[spec.Problems](err)
	if !ok && err != nil {
		c.refuse("configuration", err.Error(), "")
	}
	for _, p := range problems {
		reason := p.Reason
		if p.Path != "" {
			reason = strings.TrimPrefix(p.Path+": "+reason, "models."+c.line.text("--model-id")+".")
		}
		c.refuse(c.origin(p.Path), reason, strings.TrimPrefix(p.Fix, "use "))
	}
}
