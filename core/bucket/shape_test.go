package bucket_test

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// A bucket with half a pair, or with both shapes, must not compile. Each case is
// a program of another package; the ones that are right show that the others are
// refused for their shape and nothing else.
func TestGroups_cannot_hold_a_partial_or_mixed_shape(t *testing.T) {
	const head = "package p\nimport \"github.com/pointsman/pointsman/core/bucket\"\nvar g bucket.Group\n"
	tests := map[string]struct {
		code    string
		refused string // part of the compiler's message; empty compiles
	}{
		"plain":              {`var _ = bucket.Spec{Groups: bucket.Plain(g)}`, ""},
		"pair":               {`var _ = bucket.Spec{Groups: bucket.PD(g, g)}`, ""},
		"prefill alone":      {`var _ = bucket.Spec{Groups: bucket.PD(g)}`, "not enough arguments"},
		"plain and pair":     {`var _ = bucket.Spec{Groups: bucket.PD(g, g, bucket.Plain(g))}`, "too many arguments"},
		"group as groups":    {`var _ = bucket.Spec{Groups: g}`, "does not implement"},
		"both in one bucket": {`var _ = bucket.Spec{Plain: bucket.Plain(g), Groups: bucket.PD(g, g)}`, "unknown field Plain"},
		"half of the sum": {
			`var _ bucket.Groups = bucket.pair{}`, "not exported",
		},
		"shape of one's own": {
			`type half struct{}
			 func (half) pick() {}
			 func (half) engineGroups() []*bucket.EngineGroup { return nil }
			 var _ bucket.Groups = half{}`, "does not implement",
		},
		"half a selection": {`var _ = bucket.Selection{decode: g}`, "unexported field"},
	}
	check := compiler(t)
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			err := check(head + tt.code)
			if tt.refused == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tt.refused)
		})
	}
}

// compiler type-checks one file against this package as it is built.
func compiler(t *testing.T) func(source string) error {
	list := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", "-json=ImportPath,Export", ".")
	list.Stderr = os.Stderr
	out, err := list.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, list.Start())
	exports := map[string]string{}
	for decoder := json.NewDecoder(out); ; {
		var p struct{ ImportPath, Export string }
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else {
			require.NoError(t, err)
		}
		exports[p.ImportPath] = p.Export
	}
	require.NoError(t, list.Wait())

	files := token.NewFileSet()
	packages := importer.ForCompiler(files, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	return func(source string) error {
		file, err := parser.ParseFile(files, "p.go", source, 0)
		if err != nil {
			return err
		}
		_, err = (&types.Config{Importer: packages}).Check("p", files, []*ast.File{file}, nil)
		return err
	}
}
