package stage

import (
	"context"
	"strconv"

	"github.com/pointsman/pointsman/e2e/engineproc"
	"github.com/pointsman/pointsman/e2e/soak/engine"
)

// Engines are the fake engines, all in one process.
type Engines struct{ Addrs []string }

func (s *Stage) startEngines() (*Engines, error) {
	var hello engineproc.Hello
	_, err := s.spawnHello("engines", &hello, "engines", "--count", strconv.Itoa(s.options.Engines))
	return &Engines{Addrs: hello.Addrs}, err
}

// Counts are the engines' own.
func (e *Engines) Counts(ctx context.Context) (engine.Counts, error) {
	var c engine.Counts
	return c, getJSON(ctx, "http://"+e.Addrs[0]+engine.CountsPath, &c)
}
