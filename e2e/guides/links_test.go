package guides

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	link     = regexp.MustCompile(`\]\(((?:\.\./|[\w#])[^):]*)\)`)
	heading  = regexp.MustCompile(`(?m)^#+ (.*)$`)
	unspoken = regexp.MustCompile("[^a-z0-9 _-]")
)

// anchors are those of a file's headings, as GitHub makes them.
func anchors(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var list []string
	for _, match := range heading.FindAllStringSubmatch(string(text), -1) {
		list = append(list, strings.ReplaceAll(unspoken.ReplaceAllString(strings.ToLower(match[1]), ""), " ", "-"))
	}
	return list
}
