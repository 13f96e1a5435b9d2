// Package engineproc runs fake engines as a process of their own, so that their
// processor time and memory are apart from those of whoever loads them.
package engineproc

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
)

// Engines are running engines.
type Engines interface {
	Addrs() []string
	Stop()
}

// Hello is the line of JSON that a process writes once its engines listen.
type Hello struct{ Addrs []string }

// Serve is the process's side: it writes a Hello to out, and stops the engines
// when the context ends.
func Serve(ctx context.Context, engines Engines, out io.Writer) error {
	defer engines.Stop()
	if err := json.NewEncoder(out).Encode(Hello{Addrs: engines.Addrs()}); err != nil {
		return fmt.Errorf("engines: %w", err)
	}
	<-ctx.Done()
	return nil
}
