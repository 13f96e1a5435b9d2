package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

const smallStory = `# One engine.

config
{"models": {"m": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "random"}}}}]}}}
----
1 model, 1 bucket

fleet
A plain
----
1 engine

request r1
----
r1 all       picks A by random of 1
r1 dispatch  B
`

// tell runs "hostsim story" on the core, in a folder with one story.
func tell(t *testing.T, text string, args ...string) (code int, stdout, stderr, after string) {
	t.Helper()
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("s.story", []byte(text), 0o600))
	var out, err bytes.Buffer
	code = doMain(context.Background(), append([]string{"story"}, args...), &out, &err)
	written, readErr := os.ReadFile(filepath.Join(".", "s.story"))
	require.NoError(t, readErr)
	return code, out.String(), err.String(), string(written)
}

func TestStory_shows_the_difference(t *testing.T) {
	code, out, err, after := tell(t, smallStory, "--backend", "native", "s.story")
	require.Equal(t, exitBad, code)
	require.Equal(t, "s.story:13: request\n   r1 all       picks A by random of 1\n  -r1 dispatch  B\n  +r1 dispatch  A\n", out)
	require.Equal(t, "hostsim: s.story: 1 of 3 steps differ; look at the lines with - and +, and take them over with --rewrite\n", err)
	require.Equal(t, smallStory, after)
}

const streamedStory = `config
{"state": {"cluster": "state", "call_stream": true}, "models": {"m": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "session_aware"}}}}]}}}
----
1 model, 1 bucket

fleet
A plain
B plain
----
2 engines

request r1 session=blue
----
r1 all       picks A by assigned of 2
r1 dispatch  A

advance 1s
----
clock 1.02s

# Its calls go on a stream, and so does the reply that gets lost.
hold
----

request r2 session=red
----
r2 waits     at the filter

drop replies=1
----

answer
----
r2 all       picks B by assigned of 2
r2 dispatch  B

advance 3s
----
clock 4.02s

metrics observes binds call_streams
----
pointsman_binds_total outcome=unavailable 1
pointsman_binds_total outcome=won 1
pointsman_call_streams_total outcome=lost 1
pointsman_call_streams_total outcome=opened 2
pointsman_observes_total outcome=answered 2
`

func TestStory_calls_on_a_stream(t *testing.T) {
	module := filter.Module(t)
	code, out, err, _ := tell(t, streamedStory, "--filter", module, "s.story")
	require.Equal(t, exitGood, code, "%s%s", out, err)
}

func TestStory_rewrites(t *testing.T) {
	code, out, err, after := tell(t, smallStory, "--backend", "native", "--rewrite", "s.story")
	require.Equal(t, exitGood, code, err)
	require.Equal(t, "wrote s.story\n", out)
	require.Contains(t, after, "r1 dispatch  A\n")
	code, out, _, _ = tell(t, after, "--backend", "native", "s.story", "s.story")
	require.Equal(t, exitGood, code)
	require.Equal(t, "ok    s.story (3 steps)\nok    s.story (3 steps)\n", out)
}

func TestStory_mistakes(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		args       []string
		code       int
		want       string
	}{
		{"no file", "", []string{"--backend", "native", "none.story"}, exitBad, "none.story: no such file"},
		{"no module", "", []string{"s.story"}, exitBad, `build it with "make wasm" or use --backend native`},
		{"no module of that kind", "x", []string{"--filter", "s.story", "s.story"}, exitBad, "s.story: wasm module:"},
		{"no such backend", "", []string{"--backend", "paper", "s.story"}, exitUsage, "native"},
		{"nothing to play", "", nil, exitUsage, "expected"},
		{"syntax", "load\n", []string{"--backend", "native", "s.story"}, exitBad, `s.story:1: "load" has no line "----" after it`},
		{"command", "lead\n----\n", []string{"--backend", "native", "s.story"}, exitBad, "s.story:1: lead: no such command; write one of advance,"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			code, _, err, _ := tell(t, tt.text, tt.args...)
			require.Equal(t, tt.code, code)
			require.Contains(t, err, tt.want)
		})
	}
}
