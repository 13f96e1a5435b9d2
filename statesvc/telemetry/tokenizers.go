package telemetry

import (
	"maps"
	"slices"

	"github.com/pointsman/pointsman/statesvc/tokenize"
	"github.com/pointsman/pointsman/statesvc/tokenize/prompt"
	"github.com/prometheus/client_golang/prometheus"
)

// Tokenizers gives what each model's tokenizer has done.
type Tokenizers interface {
	Counts() map[string]tokenize.Counts
}

// AddTokenizers registers the metrics of tokenizers. Models are those of the
// configuration and of engines, the other labels the tokenizers' own words.
func (t *Telemetry) AddTokenizers(s Tokenizers) error {
	return t.registry.Register(newTokenCollector(s))
}

// tokenCollector reads the tokenizers at every scrape.
type tokenCollector struct {
	source Tokenizers

	answers, compared, verified, unanswered, hits, misses, bytes *prometheus.Desc
}

func newTokenCollector(s Tokenizers) *tokenCollector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(namespace+"_"+name, help, labels, nil)
	}
	return &tokenCollector{
		source:     s,
		answers:    desc("tokens_answers_total", "Prompts whose tokens were asked for, by where they are from, why not from the folder, and why they are not exact.", "model", "origin", "local", "reason"),
		compared:   desc("tokens_compared_total", "Prompts whose tokens of the folder were compared with an engine's, by what the prompt uses.", "model", "features", "result"),
		verified:   desc("tokens_verified", "1 for a feature of prompts whose tokens are the folder's, 0 for one given up because the engine's are different; absent while not compared.", "model", "feature"),
		unanswered: desc("tokens_unanswered_total", "Comparisons that no engine answered.", "model"),
		hits:       desc("tokens_cache_hits_total", "Texts whose tokens were remembered.", "model"),
		misses:     desc("tokens_cache_misses_total", "Texts that were cut into tokens and could be remembered.", "model"),
		bytes:      desc("tokens_cache_bytes", "Memory of remembered texts.", "model"),
	}
}

// Describe implements prometheus.Collector.
func (c *tokenCollector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.answers, c.compared, c.verified, c.unanswered, c.hits, c.misses, c.bytes} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (c *tokenCollector) Collect(out chan<- prometheus.Metric) {
	counts := c.source.Counts()
	for _, model := range slices.Sorted(maps.Keys(counts)) {
		n := counts[model]
		c.collect(out, model, &n)
	}
}

func (c *tokenCollector) collect(out chan<- prometheus.Metric, model string, n *tokenize.Counts) {
	count := func(d *prometheus.Desc, value uint64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(value), append([]string{model}, labels...)...)
	}
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, append([]string{model}, labels...)...)
	}
	for key, value := range n.Answers {
		count(c.answers, value, key.Origin.String(), string(key.Local), string(key.Reason))
	}
	for features, value := range n.Comparisons {
		different := n.Differences[features]
		count(c.compared, value-different, features.String(), "same")
		count(c.compared, different, features.String(), "different")
	}
	for i, name := range prompt.Names() {
		switch feature := prompt.Features(1 << i); {
		case n.Differing&feature != 0:
			gauge(c.verified, 0, name)
		case n.Verified&feature != 0:
			gauge(c.verified, 1, name)
		}
	}
	count(c.unanswered, n.Unanswered)
	count(c.hits, n.Cache.Hits)
	count(c.misses, n.Cache.Misses)
	gauge(c.bytes, float64(n.Cache.Bytes))
}
