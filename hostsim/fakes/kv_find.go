package fakes

import (
	"errors"
	"fmt"

	"github.com/pointsman/pointsman/hostsim/fakes/kvcache"
)

// Find tells how many prompt tokens of a request each rank would find in its prefix cache, and changes nothing there. It
// is what an oracle that knows every cache goes by. path is /v1/chat/completions or /v1/completions; of several prompts
// the first counts. Requests that come meanwhile make the answer an old one.
func (e *Engine) Find(path string, body []byte) (cached []int, err error) {
	p := e.proc.Load()
	if p == nil || p.kv == nil {
		return nil, errors.New("the engine does not run or has no prefix cache")
	}
	api := chatAPI
	if path == "/v1/completions" {
		api = completionAPI
	}
	c, bad := p.parseCall(api, body)
	if bad != nil {
		return nil, fmt.Errorf("the engine refuses the request: %s", bad.message)
	}
	for _, r := range p.kv.ranks {
		found := 0
		r.quiet(func(cache kvcache.Cache) { found = cache.Find(c.sequences[0], c.namespace) })
		cached = append(cached, found)
	}
	return cached, nil
}
