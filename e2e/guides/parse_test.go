package guides

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParse(t *testing.T) {
	p, err := parse("# A\n```sh\nls\n```\nwords\n```text\na\n```\n```yaml\nk: v\n```\n```sh cluster\nkubectl\n```\n")
	require.NoError(t, err)
	require.Equal(t, []block{
		{line: 2, text: "ls\n", want: "a\n"},
		{line: 12, text: "kubectl\n", cluster: true},
	}, p.blocks)
	for _, bad := range []string{"```sh\nls\n", "```text\na\n```\n", "```shell\nls\n```\n", "```sh skip\nls\n```\n"} {
		_, err := parse(bad)
		require.Error(t, err, "%q", bad)
	}
}

func TestPromised(t *testing.T) {
	for want, outcomes := range map[string]map[string]bool{
		"HTTP/1.1 200 OK\n...\nx-engine: e-...": {
			"http/1.1 200 OK\r\ndate: d\r\nx-engine: e-3\r\n": true,
			"HTTP/1.1 503 no\r\nx-engine: e-3\r\n":            false,
		},
		"2 errors (a)": {"found  2 errors (a).": true, "2 errors": false},
		"":             {"whatever": true, "": true},
	} {
		for got, good := range outcomes {
			require.Equal(t, good, promised(want).MatchString(got), "%q in %q", want, got)
		}
	}
}
