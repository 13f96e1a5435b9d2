package convert

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write golden files")

// golden compares text with a file of testdata.
func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(got), 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err, "run the test with -update")
	require.Equal(t, string(want), got)
}

// options give files of testdata by their name.
func options(pairs ...Pair) Options {
	return Options{Pairs: pairs, ReadFile: func(name string) ([]byte, error) {
		if !filepath.IsLocal(name) {
			return nil, errors.New("no such file")
		}
		return os.ReadFile(filepath.Join("testdata", name))
	}}
}

// static is a command line with two engines, the given flags after it.
func static(flags string) []string {
	return fields("--model-id m --worker-urls http://10.0.0.7:8000 http://10.0.0.8:8000 " + flags)
}

// discovered is one whose engines are found.
func discovered(flags string) []string {
	return fields("--model-id m --service-discovery --selector app=engine " + flags)
}

// paired is one with prefill and decode engines.
func paired(flags string) []string {
	return fields("--model-id m --service-discovery --prefill-selector role=p --decode-selector role=d " + flags)
}

func fields(s string) []string { return strings.Fields(s) }

// report shows a result as a person gets it.
func report(r *Result) string {
	var b strings.Builder
	for _, n := range r.Notes {
		b.WriteString("note: " + n.String() + "\n")
	}
	for _, x := range r.Refusals {
		b.WriteString("refused: " + x.String() + "\n")
	}
	if len(r.Refusals) == 0 {
		b.Write(r.Config)
	}
	return b.String()
}
