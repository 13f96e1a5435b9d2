package chat

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseField(t *testing.T) {
	for i, name := range FieldNames() {
		f, ok := ParseField(name)
		require.True(t, ok)
		require.Equal(t, Field(i), f)
	}
	require.Len(t, FieldNames(), int(FieldCount))
	for _, name := range []string{"", "User", "user_id", "metadata", "metadata.user"} {
		_, ok := ParseField(name)
		require.False(t, ok, name)
	}
}

// inEach gives a body of each dialect with further members.
func inEach(members string) map[Dialect]string {
	return map[Dialect]string{
		DialectChat:        `{"model":"m","messages":[{"user":"wrong"}],` + members + `}`,
		DialectCompletions: `{` + members + `,"model":"m","prompt":"p"}`,
		DialectGenerate:    `{"text":"t",` + members + `,"sampling_params":{"user":"wrong","metadata":{"user_id":"wrong"}}}`,
		DialectResponses:   `{"model":"m","input":"i",` + members + `}`,
		DialectMessages:    `{"model":"m",` + members + `,"messages":[]}`,
		DialectEmbeddings:  `{"model":"m","input":["a"],` + members + `}`,
	}
}

func TestPeekWith_fields(t *testing.T) {
	long := strings.Repeat("x", maxMetadata)
	for name, tc := range map[string]struct {
		members string
		want    [FieldCount]string // user, session_id, prompt_cache_key, metadata.user_id
	}{
		"none":                            {`"x":1`, [FieldCount]string{}},
		"all":                             {`"prompt_cache_key":"c","metadata":{"a":{"user_id":"no"},"user_id":"d"},"session_id":"b","user":"a"`, [FieldCount]string{"a", "b", "c", "d"}},
		"other types":                     {`"user":7,"session_id":null,"prompt_cache_key":["c"],"metadata":{"user_id":{"id":"d"}}`, [FieldCount]string{}},
		"booleans":                        {`"user":true,"session_id":false`, [FieldCount]string{}},
		"metadata no object":              {`"metadata":["user_id"],"user":"a"`, [FieldCount]string{"a"}},
		"empty":                           {`"user":"","session_id":" ","metadata":{}`, [FieldCount]string{"", " "}},
		"the last counts":                 {`"user":"a","user":"b","metadata":{"user_id":"c","user_id":"d"}`, [FieldCount]string{"b", "", "", "d"}},
		"the last, be it of another type": {`"user":"a","user":1,"metadata":{"user_id":"c"},"metadata":{}`, [FieldCount]string{}},
		"escapes":                         {`"us\u0065r":"\u0061\n\"","metadata":{"user\u005fid":"\ud83d\ude00"}`, [FieldCount]string{"a\n\"", "", "", "\U0001f600"}},
		"long":                            {`"user":"` + long + `"`, [FieldCount]string{long}},
		"metadata too long":               {`"metadata":{"user_id":"d","x":"` + long + `"}`, [FieldCount]string{}},
	} {
		for d, body := range inEach(tc.members) {
			t.Run(fmt.Sprint(name, "/", d), func(t *testing.T) {
				var f Fields
				facts, err := PeekWith(body, d, &f, nil)
				require.NoError(t, err)
				var got [FieldCount]string
				for i := range FieldCount {
					got[i] = f.Value(i)
				}
				require.Equal(t, tc.want, got)
				plain, err := Peek(body, d)
				require.NoError(t, err)
				require.Equal(t, plain, facts, "the facts are the same")
			})
		}
	}
}

// The pass itself keeps nothing, whether or not fields are looked for.
func TestPeekWith_allocations(t *testing.T) {
	const body = `{"messages":[{"role":"user","content":"x"}],"user":"a","metadata":{"user_id":"b"},"model":"m"}`
	var f Fields
	for name, fields := range map[string]*Fields{"off": nil, "on": &f} {
		n := testing.AllocsPerRun(100, func() {
			if _, err := PeekWith(body, DialectChat, fields, nil); err != nil {
				t.Fatal(err)
			}
		})
		require.Zero(t, n, name)
	}
	require.Zero(t, testing.AllocsPerRun(100, func() { _ = f.Value(FieldUser) + f.Value(FieldSessionID) }))
}

func FuzzPeekWith_fields(f *testing.F) {
	for _, s := range bodies() {
		f.Add(s)
	}
	f.Add(`{"model":"m","user":"\ud800","metadata":{"user_id":"x"}}`)
	f.Fuzz(func(t *testing.T, body string) {
		var fields Fields
		if _, err := PeekWith(body, DialectChat, &fields, nil); err != nil {
			return
		}
		for i := range FieldCount {
			require.LessOrEqual(t, len(fields.Value(i)), 3*len(body))
		}
	})
}
