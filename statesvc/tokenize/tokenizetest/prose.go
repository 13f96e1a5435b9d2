package tokenizetest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Prose gives n bytes of this repository's own documents, repeated as needed: English,
// tables and code.
func Prose(t testing.TB, n int) string {
	t.Helper()
	var b strings.Builder
	for b.Len() < n {
		for _, name := range []string{"README.md", "RATIONALE.md", "statesvc/README.md", "statesvc/service.go"} {
			data, err := os.ReadFile(filepath.Join(Root(), name))
			require.NoError(t, err)
			b.Write(data)
		}
	}
	return strings.ToValidUTF8(b.String()[:n], "")
}
