package spec

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pointsman/pointsman/core/chat"
)

const bySession = `"type": "consistent_hash", "key": "session"`

func TestBodyFields(t *testing.T) {
	cfg := everything(t, hashed(`"session": {"body_fields": ["metadata.user_id", "user"]}, `, bySession))
	router, err := Build(Defaults(cfg), stateful())
	require.NoError(t, err)
	require.Equal(t, []chat.Field{chat.FieldMetadataUserID, chat.FieldUser}, router.Needs().SessionFields)
	require.Equal(t, DefaultSessionHeader, router.Needs().Session, "the header goes on to be read")
	require.Empty(t, router.Needs().RoutingFields)
}

func TestBodyFields_are_refused(t *testing.T) {
	const only = "use user, session_id, prompt_cache_key or metadata.user_id"
	for _, tc := range []struct {
		members, policy string
		want            []string
	}{
		{`"session": {"body_fields": []}, `, bySession, []string{`session.body_fields: an empty list has no effect; leave it out`}},
		{`"session": {"body_fields": ["user", "email", "user", ""]}, `, bySession, []string{
			`session.body_fields[1]: "email" is not a member that can be a key; ` + only,
			`session.body_fields[2]: "user" stands twice; keep one`,
			`session.body_fields[3]: "" is not a member that can be a key; ` + only,
		}},
		{`"routing_key": {"body_fields": ["user"]}, `, bySession, []string{
			`routing_key: has no effect: no policy uses such keys; leave it out or use "consistent_hash" with such a "key"`,
		}},
		{`"body_fields": ["user"], `, bySession, []string{
			`body_fields: belongs to a kind of key; write it into "session" or "routing_key" at the top level`,
		}},
		{`"session": {"body_fields": "user"}, `, bySession, []string{`session.body_fields: must be a list, is "user"`}},
		{`"session": {}, `, bySession, []string{`session.header: is required; name the header, or leave session out for the default one`}},
	} {
		require.Equal(t, tc.want, findings(t, hashed(tc.members, tc.policy)))
	}
}
