package plugin

import "github.com/pointsman/pointsman/core/wire"

// tell puts what the context has sent where into the report, if a policy asks for
// it. What a lost report had is lost: it is a hint, and the next one has newer.
func (s *syncer) tell(p *plugin) {
	if s.request.History = (wire.History{}); !p.needs.History || s.request.Idle {
		return // nobody asks a context without streams, and hosts have one such more
	}
	s.request.History = wire.History{Present: true, Log: s.news.Log, Cursor: s.news.Cursor, Runs: p.flow.Entered()}
}

// hear takes over what others have sent where from the last reply.
func (s *syncer) hear(p *plugin) {
	h := &s.message.History
	if !p.needs.History || !h.Present {
		return
	}
	s.news.Log, s.news.Cursor = h.Log, h.Cursor
	p.flow.Learn(h.Runs, p.clock.Now())
}
