package tokenize

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/pointsman/pointsman/statesvc/tokenize/engine"
	"github.com/pointsman/pointsman/statesvc/tokenize/prompt"
)

// parity knows which features were seen to give the engine's tokens.
type parity struct {
	same     atomic.Uint32
	shown    atomic.Uint32 // by probes, those taken on trust not included
	differs  atomic.Uint32 // by probes, which may be repeated
	differed atomic.Uint32 // by traffic, for good
	trusting atomic.Bool
	mute     atomic.Bool // the engine refused every probe: it has no /tokenize
}

// trust takes everything for the engine's, but for what the files leave open.
func (p *parity) trust(l *Local) {
	p.trusting.Store(true)
	same := prompt.All
	if l != nil && l.begin != nil {
		same &^= prompt.Text
	}
	p.same.Store(uint32(same))
}

// of gives ReasonNone if all the features are known to be the engine's.
func (p *parity) of(f prompt.Features) Reason {
	switch {
	case (p.differs.Load()|p.differed.Load())&uint32(f) != 0:
		return ReasonDiffers
	case uint32(f)&^p.same.Load() != 0:
		return ReasonUnverified
	}
	return ReasonNone
}

// probed notes what a probe of a feature said.
func (p *parity) probed(f prompt.Features, same bool) {
	if same {
		p.same.Or(uint32(f))
		p.shown.Or(uint32(f))
		p.differs.And(^uint32(f))
		return
	}
	p.differs.Or(uint32(f))
	p.same.And(^uint32(f))
	p.shown.And(^uint32(f))
}

// compared reports whether an engine was seen to give the same tokens for all the
// features, and none of them is in doubt.
func (p *parity) compared(f prompt.Features) bool {
	return uint32(f)&^p.shown.Load() == 0 && p.of(f) == ReasonNone
}

// Reset forgets what comparing has shown, as is due when the engines of the model run
// another release or tokenizer. Verify has to follow.
func (m *Model) Reset() {
	m.parity.mute.Store(false)
	m.parity.differs.Store(0)
	m.parity.differed.Store(0)
	m.parity.shown.Store(0)
	if !m.parity.trusting.Load() {
		m.parity.same.Store(0)
	}
}

// Verify compares bpe with the engine on a probe for each feature. Features that bpe
// does not do stay with the engine. The error says that an engine did not answer: it
// should be tried again later; until then requests are asked of the engine. Verifying
// again is cheap and undoes what earlier probes showed, but nothing that traffic showed.
// An engine that refuses every probe is not asked until Verify is called again.
func (m *Model) Verify(ctx context.Context) error {
	if m.opts.Local == nil || m.opts.Engine == nil {
		return nil
	}
	var errs []error
	answered, refused := 0, 0
	for _, pr := range probes(m.opts.Name) {
		p, err := prompt.Read(pr.dialect, pr.body)
		if err != nil {
			return fmt.Errorf("probe %s: %w", pr.feature, err)
		}
		if _, _, err := m.opts.Local.sequences(ctx, &p, false); err != nil {
			continue
		}
		same, err := m.compare(ctx, &p)
		switch {
		case errors.Is(err, engine.ErrRefused): // as it refuses such requests
			refused++
		case err != nil:
			errs = append(errs, fmt.Errorf("probe %s: %w", pr.feature, err))
		default:
			answered++
			m.parity.probed(pr.feature, same)
			m.counts.compared(pr.feature, same)
		}
	}
	m.parity.mute.Store(refused > 0 && answered == 0 && len(errs) == 0)
	return errors.Join(errs...)
}

// compare asks the engine and looks for the way in which the tokens here are the same.
func (m *Model) compare(ctx context.Context, p *prompt.Prompt) (same bool, err error) {
	question, err := engine.Question(p, m.opts.API)
	if err != nil {
		return false, err
	}
	ids, err := m.opts.Engine.Tokenize(ctx, question)
	if err != nil {
		return false, err
	}
	ways := m.opts.Local.ways(p)
	for _, begun := range ways {
		local, _, err := m.opts.Local.sequences(ctx, p, begun)
		if err != nil {
			return false, err
		}
		if slices.Equal(ids, local[0]) {
			if len(ways) > 1 {
				m.begun.Store(begun)
			}
			return true, nil
		}
	}
	return false, nil
}

// maybeCompare compares one of so many answers by bpe with the engine, beside the
// request, one at a time.
func (m *Model) maybeCompare(p *prompt.Prompt, features prompt.Features, local []uint32) {
	if m.opts.Engine == nil || m.opts.SampleEvery < 0 || m.counts.samples.Add(1)%uint64(m.opts.SampleEvery) != 0 {
		return
	}
	question, err := engine.Question(p, m.opts.API)
	if err != nil {
		return
	}
	select {
	case m.sample <- struct{}{}:
	default:
		return
	}
	m.wg.Go(func() {
		defer func() { <-m.sample }()
		ctx, cancel := context.WithTimeout(m.ctx, m.opts.SampleTimeout)
		defer cancel()
		ids, err := m.opts.Engine.Tokenize(ctx, question)
		if err != nil {
			m.counts.unanswered.Add(1)
			return
		}
		same := slices.Equal(ids, local)
		blamed := blame(features)
		m.counts.compared(blamed, same)
		if !same {
			m.parity.differed.Or(uint32(blamed))
		}
	})
}

// blame gives the features of a request to give up when its tokens differ: those beyond
// plain chat, which has samples of its own.
func blame(f prompt.Features) prompt.Features {
	if rest := f &^ prompt.Chat; rest != 0 {
		return rest
	}
	return f
}
