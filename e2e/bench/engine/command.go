package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
)

// Hello is the line that a process of engines writes once it listens.
type Hello struct{ Addrs []string }

// Serve runs engines as a process: it writes a Hello to out and serves until the
// context ends.
func Serve(ctx context.Context, c Config, out io.Writer) error {
	s, err := Start(c)
	if err != nil {
		return err
	}
	defer s.Stop()
	if err := json.NewEncoder(out).Encode(Hello{Addrs: s.Addrs()}); err != nil {
		return fmt.Errorf("engines: %w", err)
	}
	<-ctx.Done()
	return nil
}
