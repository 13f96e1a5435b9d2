package spec

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/bucket"
	"github.com/pointsman/pointsman/core/chat"
	"github.com/pointsman/pointsman/core/policy"
)

// Handles are what policies need beside their specification.
type Handles struct {
	Load policy.LoadView
	// Bindings are what session_aware and sticky ask; nil refuses them.
	Bindings policy.Bindings
	// Prefixes are what cache_aware asks; nil refuses it.
	Prefixes policy.PrefixView
	// Offset draws the start of each rotation, ties included, so that contexts do
	// not rotate in step. Nil starts every rotation at zero.
	Offset *rand.Rand
}

// start draws where a rotation begins.
func (h Handles) start() uint64 {
	if h.Offset == nil {
		return 0
	}
	return h.Offset.Uint64()
}

// Adapters resolves LoRA adapter names to the model they belong to.
type Adapters interface {
	Base(adapter string) (string, bool)
}

// Target is where requests for one model name go.
type Target struct {
	Name     string // the name that was asked for, in memory that lasts
	Model    string // canonical name: the key in Config.Models
	Asked    string // the name engines must serve: the adapter's own, else Model
	Resolver *bucket.Resolver
}

// Router maps model names to their buckets. It is built once and read by one
// context; the policies inside it have state of their own.
type Router struct {
	models    []*routed // sorted by name
	directory directory // of the models, by their names and aliases
	members   []core.WorkerID
	services  []string
	needs     Needs
	headers   keyHeaders
}

// Needs are what a request must bring for the policies of a router. Header names
// are in lower case; an empty one is not needed.
type Needs struct {
	Session string // header of the session key
	Routing string // header of the routing key
	TTFT    string // header of the target for the time to first token
	TPS     string // header of the target for tokens per second, or for milliseconds per token

	Priority       string // header of the priority for the engine
	Subset         string // header of the engines that a request is kept to
	SubsetMetadata string // namespace of the host's metadata for the same

	// Members of the body that hold a key when its header does not, in order of
	// preference; none where the key is not needed.
	SessionFields, RoutingFields []chat.Field

	Bindings bool     // some policy binds keys
	Prefixes []string // the prefix sources of the state service that policies ask, sorted
	History  bool     // some policy goes by what was sent where
}

// ModelNeeds are what the policies of one model ask, of the state service but for
// History.
type ModelNeeds struct {
	// Scopes are where a request's keys may be bound, in the order of buckets and
	// stages in the configuration. A request fills in its key of the kind.
	Scopes []policy.Scope
	// Prefixes are the prefix sources, sorted.
	Prefixes []string
	// History says that some policy goes by what was sent where, which the context
	// knows itself.
	History bool
	// Lengths says when the service is to count the prompt.
	Lengths Lengths
	// PromptBytes is how much of a prompt's text the policies look at.
	PromptBytes int
	// InputIDs is the longest chat whose token ids are forwarded, 0 for none.
	InputIDs uint32
	// AlwaysRanked says that engines of several ranks are always told which one.
	AlwaysRanked bool
}

// Lengths says when a model's prompts are counted by the state service.
type Lengths uint8

// The choices.
const (
	LengthsEstimated Lengths = iota // never
	LengthsAmbiguous                // when an estimate leaves open which buckets take the request
	LengthsExact                    // always
)

// lengths says when a model's prompts are counted.
func (c *Config) lengths(m *Model, buckets *bucket.Resolver) Lengths {
	switch {
	case c.State == nil || !buckets.Bounded() || m.Tokens == TokensEstimate:
		return LengthsEstimated
	case m.Tokens == TokensAmbiguous:
		return LengthsAmbiguous
	}
	return LengthsExact
}

// longest is the most tokens of a chat that is forwarded with them, 0 for none.
func (i *InputIDs) longest() uint32 {
	if i == nil {
		return 0
	}
	return uint32(valueOr(i.MaxTokens, DefaultInputIDs))
}

// place is where a policy stands.
type place struct {
	model, bucket string
	stage         core.Stage
}

// keyHeaders are the headers and the members of bodies that keys are in, needed or
// not.
type keyHeaders struct {
	session, routing             string
	sessionFields, routingFields []chat.Field
	ttft, tps                    string
}

func (c *Config) keyHeaders() keyHeaders {
	name := func(h *KeyHeader, otherwise string) string {
		if h == nil || h.Header == "" {
			return otherwise
		}
		return strings.ToLower(h.Header)
	}
	h := keyHeaders{
		session: name(c.Session, DefaultSessionHeader), routing: name(c.RoutingKey, DefaultRoutingHeader),
		sessionFields: c.Session.fields(), routingFields: c.RoutingKey.fields(),
		ttft: HeaderTTFT, tps: HeaderTPS,
	}
	if c.SLOHeaders == SLOHeadersLLMD {
		h.ttft, h.tps = HeaderLLMDTTFT, HeaderLLMDTPOT
	}
	return h
}

// fields are the members of a body that hold the key.
func (h *KeyHeader) fields() (list []chat.Field) {
	if h == nil || h.BodyFields == nil {
		return nil
	}
	for _, name := range *h.BodyFields {
		if f, ok := chat.ParseField(name); ok {
			list = append(list, f)
		}
	}
	return list
}

// interop notes what hops before the filter say.
func (n *Needs) interop(c *Config) {
	if c.Priority != nil {
		n.Priority = strings.ToLower(c.Priority.Header)
	}
	if c.Subset != nil {
		n.Subset, n.SubsetMetadata = strings.ToLower(c.Subset.Header), c.Subset.Metadata
	}
}

// Build makes the router of a valid configuration.
func Build(cfg *Config, h Handles) (*Router, error) {
	r := &Router{headers: cfg.keyHeaders()}
	r.needs.interop(cfg)
	for _, name := range slices.Sorted(maps.Keys(cfg.Models)) {
		m := cfg.Models[name]
		if err := r.add(name, m, h); err != nil {
			return nil, fmt.Errorf("models.%s: %w", name, err)
		}
		model := r.building()
		model.needs.Lengths = cfg.lengths(&m, model.resolver)
		model.needs.InputIDs = m.InputIDs.longest()
		model.needs.AlwaysRanked = m.DPRanks == DPRanksAlways
		if model.needs.AlwaysRanked {
			r.needKey(policy.KeySession)
			r.needKey(policy.KeyRouting)
		}
	}
	r.directory.sort()
	slices.Sort(r.members)
	r.members = slices.Compact(r.members)
	slices.Sort(r.services)
	r.services = slices.Compact(r.services)
	return r, nil
}

// add builds one model.
func (r *Router) add(name string, m Model, h Handles) (err error) {
	model := &routed{name: name}
	r.models = append(r.models, model)
	r.directory = append(r.directory, named{name, model})
	for _, alias := range m.Aliases {
		r.directory = append(r.directory, named{alias, model})
	}
	if model.contract, err = m.Sampling.contract(); err != nil {
		return err
	}
	model.resolver, err = r.resolver(name, m, h)
	return err
}

func (r *Router) resolver(name string, m Model, h Handles) (*bucket.Resolver, error) {
	buckets := make([]*bucket.Bucket, 0, len(m.Buckets))
	for i := range m.Buckets {
		b, err := r.bucket(name, &m, &m.Buckets[i], h)
		if err != nil {
			return nil, err
		}
		buckets = append(buckets, b)
	}
	ttft, known := bucket.ParsePreference(m.TTFTSLO)
	tps, knownToo := bucket.ParsePreference(m.TPSSLO)
	if !known || !knownToo {
		return nil, fmt.Errorf("preferences %q and %q are not both known", m.TTFTSLO, m.TPSSLO)
	}
	if ttft != bucket.PreferenceDisabled {
		r.needs.TTFT = r.headers.ttft
	}
	if tps != bucket.PreferenceDisabled {
		r.needs.TPS = r.headers.tps
	}
	return bucket.NewResolver(buckets, bucket.Preferences{TTFT: ttft, TPS: tps})
}

func (r *Router) bucket(name string, m *Model, b *Bucket, h Handles) (*bucket.Bucket, error) {
	groups, err := r.groups(name, m, b, h)
	if err != nil {
		return nil, fmt.Errorf("bucket %q: %w", b.ID, err)
	}
	s := bucket.Spec{ID: b.ID, Rank: b.Rank, MaxContext: b.MaxContextTokens, TTFTMillis: b.TTFTMillis, TokensPerSecond: b.TokensPerSecond, Groups: groups}
	if b.Limits != nil {
		s.Min, s.Max = b.Limits.Min, b.Limits.Max
	}
	return bucket.New(s)
}

func (r *Router) groups(name string, m *Model, b *Bucket, h Handles) (bucket.Groups, error) {
	if b.Groups.Plain != nil {
		g, err := r.group(place{name, b.ID, core.StagePlain}, m, b.Groups.Plain, h)
		return bucket.Plain(g), err
	}
	if b.Groups.PD == nil || b.Groups.PD.Prefill == nil || b.Groups.PD.Decode == nil {
		return nil, errors.New("groups are incomplete")
	}
	prefill, err := r.group(place{name, b.ID, core.StagePrefill}, m, b.Groups.PD.Prefill, h)
	if err != nil {
		return nil, fmt.Errorf("prefill: %w", err)
	}
	decode, err := r.group(place{name, b.ID, core.StageDecode}, m, b.Groups.PD.Decode, h)
	return bucket.PD(prefill, decode), err
}

func (r *Router) group(at place, m *Model, g *Group, h Handles) (bucket.Group, error) {
	p, err := r.newPolicy(at, m.policyOf(at.stage, g), h)
	if err != nil {
		return bucket.Group{}, err
	}
	members := bucket.All()
	if g.WorkerIDs != nil {
		ids := make([]core.WorkerID, 0, len(*g.WorkerIDs))
		for _, id := range *g.WorkerIDs {
			ids = append(ids, core.WorkerID(id))
		}
		members = bucket.Only(ids...)
		r.members = append(r.members, ids...)
	}
	if g.WorkerServices != nil {
		members = members.Behind(*g.WorkerServices...)
		r.services = append(r.services, *g.WorkerServices...)
	}
	return bucket.Group{Members: members, Policy: p}, nil
}

// Route finds the target of a model name: the model itself, else an alias, else
// an adapter of the fleet whose base model is routed.
func (r *Router) Route(asked string, adapters Adapters) (Target, bool) {
	if found := r.directory.find(asked); found != nil {
		m := found.model
		return Target{Name: found.name, Model: m.name, Asked: m.name, Resolver: m.resolver}, true
	}
	base, ok := adapters.Base(asked)
	if !ok {
		return Target{}, false
	}
	if found := r.directory.find(base); found != nil {
		m := found.model
		asked = strings.Clone(asked)
		return Target{Name: asked, Model: m.name, Asked: asked, Resolver: m.resolver}, true
	}
	return Target{}, false
}

// Only gives the routed model when there is just one.
func (r *Router) Only() (string, bool) {
	if len(r.models) != 1 {
		return "", false
	}
	return r.models[0].name, true
}

// Names lists the model names that Route knows by configuration, sorted.
func (r *Router) Names() []string { return r.directory.names() }

// Needs says what requests must bring.
func (r *Router) Needs() Needs { return r.needs }

// ModelNeeds says what the policies of a model, by its canonical name, ask of the
// state service.
func (r *Router) ModelNeeds(model string) ModelNeeds {
	if found := r.directory.find(model); found != nil {
		return found.model.needs
	}
	return ModelNeeds{}
}

// Members lists the worker IDs that groups name, sorted and without repeats.
func (r *Router) Members() []core.WorkerID { return r.members }

// Roll says who is in a fleet.
type Roll interface {
	// Has reports whether a worker of that ID is.
	Has(id core.WorkerID) bool
	// Behind reports whether a worker behind that Kubernetes Service is.
	Behind(service string) bool
}

// Missing says in one line what groups name and a fleet does not have, empty for
// nothing.
func (r *Router) Missing(fleet Roll) string {
	var ids, services []string
	for _, id := range r.members {
		if !fleet.Has(id) {
			ids = append(ids, string(id))
		}
	}
	for _, s := range r.services {
		if !fleet.Behind(s) {
			services = append(services, s)
		}
	}
	var parts []string
	if len(ids) > 0 {
		parts = append(parts, "groups name workers the fleet does not have: "+strings.Join(ids, ", "))
	}
	if len(services) > 0 {
		parts = append(parts, "groups name services that no worker is behind: "+strings.Join(services, ", "))
	}
	return strings.Join(parts, "; ")
}
