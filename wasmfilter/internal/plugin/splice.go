package plugin

import (
	"github.com/pointsman/pointsman/core/flow"
	"github.com/pointsman/pointsman/wasmfilter/internal/abi"
	"github.com/pointsman/pointsman/wasmfilter/internal/host"
)

// splice puts texts into the buffered request body. Outside of the body's own
// callback the body is read again, since the arena may hold another stream's by
// then. A request whose body cannot be edited is answered 500: it would reach an
// engine without what it must carry. It reports whether the request goes on.
func (s *stream) splice(e *flow.Effect, outside bool) bool {
	body := s.plugin.event.Body
	var err error
	if outside || body == "" {
		body, err = s.plugin.arena.Body(s.size)
	}
	if err == nil {
		err = host.Splice(body, e.Insertions)
	}
	if err == nil {
		return true
	}
	logf(abi.LevelError, "request body cannot be edited: %v", err)
	response := flow.ErrorResponse(flow.CodeInternal, "the router could not handle the request; its log says why")
	s.respond(&response)
	return false
}
