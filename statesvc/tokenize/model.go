package tokenize

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pointsman/pointsman/core/chat"
	"github.com/pointsman/pointsman/statesvc/tokenize/bpe"
	"github.com/pointsman/pointsman/statesvc/tokenize/engine"
	"github.com/pointsman/pointsman/statesvc/tokenize/prompt"
	"github.com/pointsman/pointsman/statesvc/tokenize/render"
)

// Asker is an engine's /tokenize.
type Asker interface {
	Tokenize(ctx context.Context, question string) ([]uint32, error)
}

// Options are a Model's facts.
type Options struct {
	// Name is the model's name in questions that no request asked.
	Name string
	// Local is nil without a tokenizer here.
	Local *Local
	// Engine is nil without one to ask; API says whose questions it takes.
	Engine Asker
	API    render.Engine
	// Trust takes Local for the engine's without comparing.
	Trust bool
	// SampleEvery is of how many answers by bpe one is compared with the engine; 256
	// if zero, none if negative.
	SampleEvery int
	// SampleTimeout bounds a comparison; 5 s if zero.
	SampleTimeout time.Duration
	// MaxBody is the largest body that is tokenized; 8 MiB if zero.
	MaxBody int
	// Turns are those of all models of the process; the model has its own if nil.
	Turns *Turns
}

// Model tells the tokens of one model's requests.
type Model struct {
	opts   Options
	parity parity
	counts counts
	begun  atomic.Bool // the engine's texts begin with a token of their own

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	wg     sync.WaitGroup
	sample chan struct{} // holds one while a comparison runs
	closed sync.Once
}

// New makes a model. Close ends its comparisons.
func New(opts Options) *Model {
	if opts.SampleEvery == 0 {
		opts.SampleEvery = 256
	}
	if opts.SampleTimeout == 0 {
		opts.SampleTimeout = 5 * time.Second
	}
	if opts.MaxBody == 0 {
		opts.MaxBody = 8 << 20
	}
	if opts.Turns == nil {
		opts.Turns = NewTurns()
	}
	m := &Model{opts: opts, sample: make(chan struct{}, 1)}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	if opts.Trust {
		m.parity.trust(opts.Local)
	}
	return m
}

// Close ends the comparisons that run and waits for them. The model answers on, without
// comparing.
func (m *Model) Close() {
	m.closed.Do(func() {
		m.cancel()
		m.sample <- struct{}{} // none begins any more
		m.wg.Wait()
	})
}

// Tokens answers for one request; see Source.
func (m *Model) Tokens(ctx context.Context, dialect chat.Dialect, body string) (Tokens, error) {
	t, err := m.tokens(ctx, dialect, body)
	m.counts.note(&t)
	return t, err
}

func (m *Model) tokens(ctx context.Context, dialect chat.Dialect, body string) (Tokens, error) {
	if len(body) > m.opts.MaxBody {
		facts := chat.Facts{Bytes: uint64(len(body))}
		return estimate(&facts, ReasonTooLarge), nil
	}
	leave, ok := m.opts.Turns.take(ctx, len(body))
	if !ok {
		return estimate(&chat.Facts{Bytes: uint64(len(body))}, ReasonDeadline), nil
	}
	defer leave()
	p, err := prompt.Read(dialect, body)
	var t Tokens
	switch {
	case errors.Is(err, prompt.ErrNotText):
		t = m.counted(ctx, &p, ReasonNotText)
	case err != nil:
		return estimate(&p.Facts, ReasonBody), err
	case p.IDs != nil:
		t = exact(p.IDs, FromClient)
	case p.Messages == "" && p.Texts == nil:
		t = m.counted(ctx, &p, ReasonNoForm)
	default:
		t = m.choose(ctx, &p)
	}
	t.Facts = p.Facts
	return t, nil
}

// choose answers by bpe, by the engine or by what is left.
func (m *Model) choose(ctx context.Context, p *prompt.Prompt) Tokens {
	local, features, why := m.local(ctx, p)
	if why == ReasonNone {
		m.maybeCompare(p, features, local.IDs)
		return local
	}
	t := m.ask(ctx, p, local)
	t.Local = why
	return t
}

// local answers by bpe. With ReasonUnverified the answer must not be taken for exact.
func (m *Model) local(ctx context.Context, p *prompt.Prompt) (Tokens, prompt.Features, Reason) {
	l := m.opts.Local
	if l == nil {
		return Tokens{}, 0, ReasonNoTokenizer
	}
	if m.parity.of(p.Features) == ReasonDiffers {
		return Tokens{}, 0, ReasonDiffers
	}
	begun := m.begun.Load()
	sequences, features, err := l.sequences(ctx, p, begun)
	switch {
	case err == nil:
		why := m.parity.of(features)
		if why == ReasonDiffers {
			return Tokens{}, features, why
		}
		if begun != m.begun.Load() { // verified meanwhile, the other way
			why = ReasonUnverified
		}
		t := exact(sequences, FromBPE)
		t.Compared = m.parity.compared(features)
		return t, features, why
	case ctx.Err() != nil:
		return Tokens{}, 0, ReasonDeadline
	case errors.Is(err, bpe.ErrPieceTooLong):
		return Tokens{}, 0, ReasonTooLong
	case errors.Is(err, bpe.ErrUnknownCharacter):
		return Tokens{}, 0, ReasonCharacter
	}
	return Tokens{}, 0, ReasonUnrenderable
}

// ask answers by the engine, else by what is left. An unverified answer by bpe is at
// least a length.
func (m *Model) ask(ctx context.Context, p *prompt.Prompt, unverified Tokens) Tokens {
	ids, reason := m.askEngine(ctx, p)
	switch {
	case reason == ReasonNone:
		return exact([][]uint32{ids}, FromEngine)
	case unverified.IDs != nil:
		unverified.IDs, unverified.Certainty, unverified.Reason = nil, Counted, reason
		return unverified
	}
	return m.counted(ctx, p, reason)
}

func (m *Model) askEngine(ctx context.Context, p *prompt.Prompt) ([]uint32, Reason) {
	switch {
	case m.opts.Engine == nil:
		return nil, ReasonEngine
	case m.parity.mute.Load():
		return nil, ReasonRefused
	}
	question, err := engine.Question(p, m.opts.API)
	if err != nil {
		return nil, ReasonNotAskable
	}
	ids, err := m.opts.Engine.Tokenize(ctx, question)
	switch {
	case err == nil:
		return ids, ReasonNone
	case ctx.Err() != nil:
		return nil, ReasonDeadline
	case errors.Is(err, engine.ErrBusy):
		return nil, ReasonBusy
	case errors.Is(err, engine.ErrRefused):
		return nil, ReasonRefused
	}
	return nil, ReasonEngine
}

// counted answers with the length of the prompt's raw text, or an estimate.
func (m *Model) counted(ctx context.Context, p *prompt.Prompt, reason Reason) Tokens {
	if m.opts.Local == nil || ctx.Err() != nil {
		return estimate(&p.Facts, reason)
	}
	text := strings.ToValidUTF8(p.RawText(), "\ufffd")
	if text == "" {
		return estimate(&p.Facts, reason)
	}
	ids, err := m.opts.Local.Encode(ctx, nil, text)
	if err != nil {
		return estimate(&p.Facts, reason)
	}
	n := max(1, uint64(len(ids)))
	return Tokens{Longest: n, Total: n, Certainty: Counted, Origin: FromRawText, Reason: reason}
}
