package flow

import (
	"strings"
	"testing"

	"github.com/pointsman/pointsman/core"
	"github.com/stretchr/testify/require"
)

// hashing routes model "m" over every engine by keys of a kind.
func hashing(key string) string {
	return strings.Replace(oneBucket, `{"type":"round_robin"}`, `{"type":"consistent_hash","key":"`+key+`"}`, 1)
}

// keyed sends a request with both key headers and tells where it went.
func (m *machine) keyed(session, routing, body string) *Request {
	m.t.Helper()
	r, ev := m.NewRequest(), m.headers()
	ev.SessionHeader, ev.RoutingHeader = session, routing
	r.Step(&ev)
	effects := r.Step(&Event{Kind: EventBody, Now: m.now, Body: body})
	require.Equal(m.t, []EffectKind{EffectRoute, EffectContinue, EffectReceipt}, kinds(effects))
	require.Empty(m.t, r.bucket.Prompt, "nothing of the body is kept")
	return r
}

func promptOf(text string) string {
	return `{"model":"m","messages":[{"role":"user","content":"` + text + `"}]}`
}

// H09: a session stays together with nothing but the header, in every context.
func TestH09_keys_decide(t *testing.T) {
	long := strings.Repeat("system ", 200)
	for key, send := range map[string]func(m *machine, key string, i int) *Request{
		"session": func(m *machine, key string, i int) *Request {
			return m.keyed(key, strings.Repeat("r", i), promptOf(strings.Repeat("x", i)))
		},
		"routing": func(m *machine, key string, i int) *Request {
			return m.keyed(strings.Repeat("s", i), key, promptOf(strings.Repeat("x", i)))
		},
		"prefix": func(m *machine, key string, i int) *Request {
			return m.keyed(strings.Repeat("s", i), strings.Repeat("r", i), promptOf(key+long+strings.Repeat("x", i)))
		},
	} {
		one, other := newMachine(t, hashing(key), engines(8)...), newMachine(t, hashing(key), engines(8)...)
		places := map[core.WorkerID]bool{}
		for k := range strings.FieldsSeq("alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu") {
			home := core.WorkerID("")
			for i := range 6 {
				m := []*machine{one, other}[i%2]
				r := send(m, k, i)
				require.Equal(t, core.ReasonConsistentHash, r.Receipt().Reason)
				if i > 0 {
					require.Equal(t, home, r.Receipt().Chosen, "%s %s", key, k)
				}
				home = r.Receipt().Chosen
				m.answer(r, 200)
			}
			places[home] = true
		}
		require.Greater(t, len(places), 3, key)
	}
}

func TestKeys_absent(t *testing.T) {
	for name, value := range map[string]string{"empty": "", "not ASCII": "sitz\u00fcng"} {
		for _, key := range []string{"session", "routing"} {
			m := newMachine(t, hashing(key), engines(4)...)
			require.Equal(t, core.ReasonNoKey, m.keyed(value, value, promptOf("x")).Receipt().Reason, name)
		}
	}
	m := newMachine(t, hashing("prefix"), engines(4)...)
	require.Equal(t, core.ReasonNoKey, m.keyed("s", "r", `{"model":"m"}`).Receipt().Reason, "A20: no prompt is no key, not an empty one")
}

// H12: however long the header, a request keeps little of it.
func TestH12_long_keys_are_not_kept(t *testing.T) {
	m := newMachine(t, hashing("session"), engines(8)...)
	long := strings.Repeat("k", 64<<10)
	r := m.keyed(long, "", promptOf("x"))
	require.Equal(t, core.ReasonConsistentHash, r.Receipt().Reason)
	require.LessOrEqual(t, len(r.session), 64)
	require.Equal(t, r.Receipt().Chosen, m.keyed(long, "", promptOf("y")).Receipt().Chosen)
}

// Without bodies sessions still hold; there is no prompt to hash.
func TestKeys_in_header_only_mode(t *testing.T) {
	for key, want := range map[string]core.Reason{"session": core.ReasonConsistentHash, "prefix": core.ReasonNoKey} {
		m := latched(t, hashing(key))
		r, ev := m.NewRequest(), m.headers()
		ev.SessionHeader = "s"
		r.Step(&ev)
		require.Equal(t, want, r.Receipt().Reason)
	}
}

// The spare engine of a session is the next one of its own order, the same for
// every request.
func TestKeys_spares_are_the_next_in_order(t *testing.T) {
	m := newMachine(t, `"transport_retry":true,`+hashing("session"), engines(9)...)
	endpoint := func() string {
		r, ev := m.NewRequest(), m.headers()
		ev.SessionHeader = "s"
		r.Step(&ev)
		for _, e := range r.Step(&Event{Kind: EventBody, Body: promptOf("x")}) {
			if e.Kind == EffectRoute {
				return e.Endpoint
			}
		}
		return ""
	}
	first := endpoint()
	require.Len(t, strings.Split(first, ","), 3)
	require.Equal(t, first, endpoint())
}

// withFields has requests bring keys in their bodies.
func withFields(kind, fields, key string) string {
	return `"` + kind + `":{"body_fields":[` + fields + `]},` + hashing(key)
}

// The header goes first, then the members in the order of the configuration,
// whatever their order in the body.
func TestKeys_in_bodies(t *testing.T) {
	const body = `{"model":"m","messages":[],"user":"u","session_id":"s","prompt_cache_key":"p","metadata":{"user_id":"d"}}`
	for _, tc := range []struct{ fields, header, body, want string }{
		{`"metadata.user_id","user"`, "h", body, "h"},
		{`"metadata.user_id","user"`, "", body, "d"},
		{`"user","metadata.user_id"`, "", body, "u"},
		{`"session_id"`, "", body, "s"},
		{`"prompt_cache_key"`, "", body, "p"},
		{`"prompt_cache_key","user"`, "", `{"model":"m","user":"u","prompt_cache_key":7}`, "u"},
		{`"prompt_cache_key","user"`, "", `{"model":"m","user":"u","prompt_cache_key":""}`, "u"},
		{`"user"`, "s\u00fcd", body, "u"}, // a header that is no key
		{`"user"`, "", `{"model":"m"}`, ""},
		{`"user"`, "", `{"model":"m","user":{"id":"u"}}`, ""},
	} {
		for kind, key := range map[string]string{"session": "session", "routing_key": "routing"} {
			m := newMachine(t, withFields(kind, tc.fields, key), engines(4)...)
			session, routing := tc.header, ""
			if kind == "routing_key" {
				session, routing = "", tc.header
			}
			r := m.keyed(session, routing, tc.body)
			got := map[string]string{"session": r.session, "routing_key": r.routing}[kind]
			require.Equal(t, tc.want, got, "%s %s", tc.fields, tc.body)
			require.Equal(t, tc.want == "", r.Receipt().Reason == core.ReasonNoKey)
		}
	}
}

// The same key goes to the same engine, be it in a header or in a body.
func TestKeys_of_headers_and_bodies_are_alike(t *testing.T) {
	m := newMachine(t, withFields("session", `"user"`, "session"), engines(16)...)
	for _, key := range []string{"alpha", "beta", "gamma", strings.Repeat("long", 100)} {
		home := m.keyed(key, "", promptOf("x")).Receipt().Chosen
		require.Equal(t, home, m.keyed("", "", `{"model":"m","user":"`+key+`"}`).Receipt().Chosen)
	}
}

// H12 for bodies: what is long or unusual is kept as a hash, and nothing is kept
// of a body that has no part in it.
func TestH12_keys_of_bodies_are_bounded(t *testing.T) {
	m := newMachine(t, withFields("session", `"user"`, "session"), engines(8)...)
	for _, key := range []string{strings.Repeat("k", 1<<20), "sitz\u00fcng", `line\nbreak`, `\u0000`} {
		r := m.keyed("", "", `{"model":"m","user":"`+key+`"}`)
		require.Equal(t, core.ReasonConsistentHash, r.Receipt().Reason)
		require.LessOrEqual(t, len(r.session), 64)
		require.True(t, strings.HasPrefix(r.session, "hashed:"), r.session)
	}
}
