// Package enginemetrics reads an engine's load from its Prometheus metrics, in
// the dialects of vLLM and SGLang (engine-selection.md 5, design section 5). It
// is the only package that knows the text format. It is pure: text in, a Sample
// out.
//
// Loads are summed over ranks and never partial: a metric that one rank lacks is
// unknown for the whole engine.
package enginemetrics
