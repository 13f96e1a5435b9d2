package spec

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"

	"github.com/pointsman/pointsman/core/chat"
	"github.com/pointsman/pointsman/core/sampling"
)

// Choices of Sampling.Conflict.
const (
	ConflictReject = "reject"
	ConflictAllow  = "allow"
)

// Sampling holds a model's requests to sampling parameters (engine-selection.md
// 12.6); core/sampling/README.md describes it.
type Sampling struct {
	// Override governs fields by name. Required, with one field at least.
	Override *Override `json:"override"`
	// Conflict says what to do with a request that sets another value than a fixed
	// one: reject (default) answers 400, allow lets it pass.
	Conflict string `json:"conflict"`
}

// Override has a rule for each governed field.
type Override struct {
	// Temperature is from 0 to 2.
	Temperature *SamplingRule `json:"temperature"`
	// TopP is above 0, to 1.
	TopP *SamplingRule `json:"top_p"`
	// TopK is a whole number from 1 on, or -1 for all.
	TopK *SamplingRule `json:"top_k"`
	// MinP is from 0 to 1.
	MinP *SamplingRule `json:"min_p"`
	// RepetitionPenalty is above 0, to 2.
	RepetitionPenalty *SamplingRule `json:"repetition_penalty"`
	// FrequencyPenalty is from -2 to 2.
	FrequencyPenalty *SamplingRule `json:"frequency_penalty"`
	// PresencePenalty is from -2 to 2.
	PresencePenalty *SamplingRule `json:"presence_penalty"`
	// N, the number of answers, is a whole number from 1 to 128.
	N *SamplingRule `json:"n"`
}

// SamplingRule is a number, which requests without the field are given, or a band
// {"min": ..., "max": ...}, which the values of requests must lie in.
type SamplingRule struct {
	Number *float64
	Band   *SamplingBand
}

// SamplingBand is an inclusive range; both ends are required.
type SamplingBand struct {
	Min *float64 `json:"min"`
	Max *float64 `json:"max"`
}

// decodeFrom reads either form.
func (r *SamplingRule) decodeFrom(d *decoder, path string, raw json.RawMessage) {
	if raw[0] == '{' {
		r.Band = &SamplingBand{}
		d.object(path, raw, reflect.ValueOf(r.Band).Elem())
		return
	}
	r.Number = new(float64)
	if err := json.Unmarshal(raw, r.Number); err != nil {
		d.problems.add(path, `must be a number or {"min": ..., "max": ...}, is `+excerpt(raw), "")
	}
}

// rules lists the rules in the order of the fields, nil for free ones.
func (o *Override) rules() [sampling.FieldCount]*SamplingRule {
	return [sampling.FieldCount]*SamplingRule{
		sampling.Temperature:       o.Temperature,
		sampling.TopP:              o.TopP,
		sampling.TopK:              o.TopK,
		sampling.MinP:              o.MinP,
		sampling.RepetitionPenalty: o.RepetitionPenalty,
		sampling.FrequencyPenalty:  o.FrequencyPenalty,
		sampling.PresencePenalty:   o.PresencePenalty,
		sampling.N:                 o.N,
	}
}

// rule gives the rule of one field; ok is false when it is incomplete.
func (r *SamplingRule) rule() (rule sampling.Rule, ok bool) {
	switch {
	case r == nil:
		return sampling.Rule{}, true
	case r.Number != nil:
		return sampling.Fix(*r.Number), true
	case r.Band == nil || r.Band.Min == nil || r.Band.Max == nil:
		return sampling.Rule{}, false
	}
	return sampling.Between(*r.Band.Min, *r.Band.Max), true
}

// contract builds what a model's requests are held to, nil for nothing.
func (s *Sampling) contract() (*sampling.Contract, error) {
	if s == nil || s.Override == nil {
		return nil, nil
	}
	var rules sampling.Rules
	for f, r := range s.Override.rules() {
		rule, ok := r.rule()
		if !ok {
			return nil, fmt.Errorf("sampling.override.%s: the band is incomplete", sampling.Field(f))
		}
		rules[f] = rule
	}
	c, err := sampling.New(rules, s.Conflict == ConflictAllow)
	if err != nil {
		return nil, fmt.Errorf("sampling.override.%w", err)
	}
	return c, nil
}

func (v *validator) sampling(at string, s *Sampling) {
	if s == nil {
		return
	}
	at += ".sampling"
	v.oneOf(at+".conflict", s.Conflict, ConflictReject, ConflictAllow)
	if s.Override == nil || *s.Override == (Override{}) {
		v.add(at+".override", "is required", `write "override": {"temperature": 0.6}, or leave "sampling" out`)
		return
	}
	for f, r := range s.Override.rules() {
		v.samplingRule(at+".override."+sampling.Field(f).String(), sampling.Field(f), r, s.Conflict == ConflictAllow)
	}
}

func (v *validator) samplingRule(at string, f sampling.Field, r *SamplingRule, allow bool) {
	rule, ok := r.rule()
	if !ok {
		v.add(at, "a band needs both ends", `write {"min": ..., "max": ...}, or a number`)
		return
	}
	err := sampling.Check(f, rule, allow)
	switch {
	case errors.Is(err, sampling.ErrDomain) && rule.Kind == sampling.Fixed:
		v.add(at, number64(rule.Min)+" is out of range", "use a value that is "+f.Domain())
	case errors.Is(err, sampling.ErrDomain):
		v.add(at, "the band reaches out of range", "use values that are "+f.Domain())
	case errors.Is(err, sampling.ErrBackwards):
		v.add(at, fmt.Sprintf("min %s is above max %s", number64(rule.Min), number64(rule.Max)), "swap or widen them")
	case errors.Is(err, sampling.ErrIdle):
		v.add(at, `a band has no effect with "conflict": "allow"`, `use "conflict": "reject", or leave the band out`)
	}
}

func number64(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// generateModel checks that requests to /generate, which name no model, have one.
func (v *validator) generateModel() {
	c := v.cfg
	routed := slices.Contains(c.Paths, chat.PathGenerate)
	_, known := c.Models[c.GenerateModel]
	switch {
	case c.GenerateModel != "" && !routed:
		v.add("generate_model", "has no effect: "+chat.PathGenerate+" is not among paths", `add it to "paths", or leave generate_model out`)
	case !v.whole.models:
	case c.GenerateModel != "" && !known:
		v.add("generate_model", strconv.Quote(c.GenerateModel)+" is not among models", "name one of them")
	case c.GenerateModel == "" && routed && len(c.Models) > 1:
		v.add("generate_model", fmt.Sprintf("is required: bodies of %s name no model, and %d are routed", chat.PathGenerate, len(c.Models)), "name the model they are for")
	}
}

// Sampling gives the contract of a model by its canonical name, nil when it has
// none.
func (r *Router) Sampling(model string) *sampling.Contract {
	if found := r.directory.find(model); found != nil {
		return found.model.contract
	}
	return nil
}
