package story

import (
	"testing"

	"github.com/stretchr/testify/require"
)

const begun = `config
{"models": {"m": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "round_robin"}}}}]}}}
----

fleet
A plain
----

request r1
----

`

// A mistake ends the story with its place and what to write.
func TestRun_mistakes(t *testing.T) {
	for _, tt := range []struct{ step, want string }{
		{"reqest r1", `s.story:12: reqest: no such command; write one of advance, answer, bindings, body, config, drain, drop, expect, explain, fleet, heal, hold, ids, kill, kv, load, log, metrics, release, report, request, respond`},
		{"request", `s.story:12: request: name the request, like "request r1 model=m"`},
		{"request r2 modell=m", `s.story:12: request: unknown argument modell; README.md of hostsim/story lists what the command takes`},
		{"request r2 input=many", `s.story:12: request: input=many is not a whole number; write it like input=5`},
		{"request r2 input=3", `s.story:12: request: input=3 is too short for the rest of the body; write input=15 or more, or leave it out`},
		{"request r2 input=100 peak=100", `s.story:12: request: peak=100 is no more than input=100; peak is input and output together`},
		{"request r2 header=(x-a)", `s.story:12: request: header takes a name and a value; write header=(x-tenant,blue)`},
		{"request r2 at=1ms", `s.story:12: request: at=1ms has passed, the clock stands at 20ms; write a later time`},
		{"request r2 at=soon", `s.story:12: request: at=soon is not a time; write it like at=1s or at=200ms`},
		{"request r2 model=(a,b)", `s.story:12: request: model takes one value; write model=x`},
		{"release r9", `s.story:12: release: no request r9; write the name of a request step`},
		{"release", `s.story:12: release: name a request, like "release r1"`},
		{"release r1 end=badly", `s.story:12: release: end=badly is no end; write one of [complete cut unreachable timeout nohost gone]`},
		{"respond r1 used=Z", `s.story:12: respond: no engine Z; write one of the fleet step`},
		{"body r1", `s.story:12: body: the body of r1 has come; write "part" on its request step`},
		{"report Z running=1", `s.story:12: report: no engine Z; write one of the fleet step`},
		{"drain", `s.story:12: drain: name an engine, like "report A running=2"`},
		{"fleet\nA both", `s.story:12: fleet: "A both": both is no stage; write plain, prefill or decode`},
		{"advance soon", `s.story:12: advance: soon is not a time; write it like 1s or 200ms`},
		{"expect A=2", `s.story:12: expect: A is 1, not 2`},
		{"expect A=x", `s.story:12: expect: x is neither a number nor a range; write 3 or 2..4`},
		{"expect A", `s.story:12: expect: A has no number; write like "expect A=3 B=2..4 policy_selection_failed=1"`},
		{"explain r9", `s.story:12: explain: no request r9; write the name of a request step`},
	} {
		t.Run(tt.step, func(t *testing.T) {
			f, err := Parse("s.story", begun+tt.step+"\n----\n")
			require.NoError(t, err)
			outputs, err := f.Run(Native{})
			require.EqualError(t, err, tt.want)
			require.Len(t, outputs, 3)
		})
	}
}

func TestRun_needs_a_filter(t *testing.T) {
	f, err := Parse("s.story", "load\n----\n")
	require.NoError(t, err)
	_, err = f.Run(Native{})
	require.EqualError(t, err, `s.story:1: load: there is no filter yet; write a config step above`)
}

func TestRun_says_that_the_config_was_refused(t *testing.T) {
	f, err := Parse("s.story", "config\n{\n----\n\nload\n----\n")
	require.NoError(t, err)
	_, err = f.Run(Native{})
	require.EqualError(t, err, `s.story:5: load: there is no filter: the config above was refused: 1 problem in the filter configuration not valid JSON: the document ends too early`)
}

func TestRun_static_fleet_takes_no_news(t *testing.T) {
	f, err := Parse("s.story", `config
{"workers": [{"address": "127.0.0.1:1", "models": ["m"]}], "models": {"m": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "random"}}}}]}}}
----

fleet
A plain
----
`)
	require.NoError(t, err)
	_, err = f.Run(Native{})
	require.EqualError(t, err, `s.story:5: fleet: the config names no state service, so the filter cannot learn of this; leave "workers" out of it`)
}

// A release of a request that is over says so.
func TestRun_ends_once(t *testing.T) {
	f, err := Parse("s.story", begun+"release r1\n----\n\nrelease r1\n----\n")
	require.NoError(t, err)
	_, err = f.Run(Native{})
	require.EqualError(t, err, `s.story:15: release: the request has ended`)
}

// Runs share nothing.
func TestRun_repeats_itself(t *testing.T) {
	f, err := Parse("s.story", begun+"request many count=50\n----\n\nmetrics\n----\n\nload\n----\n")
	require.NoError(t, err)
	first, err := f.Run(Native{})
	require.NoError(t, err)
	second, err := f.Run(Native{})
	require.NoError(t, err)
	require.Equal(t, first, second)
}

func TestDifference_shows_what_changed(t *testing.T) {
	f, err := Parse("s.story", "log\n----\none\ntwo\nthree\n")
	require.NoError(t, err)
	list := f.Compare([]string{"one\n2\nthree\nfour\n"})
	require.Len(t, list, 1)
	require.Equal(t, "s.story:1: log\n   one\n  -two\n  +2\n   three\n  +four\n", list[0].String())
	require.Empty(t, f.Compare([]string{"one\ntwo\nthree\n"}))
}
