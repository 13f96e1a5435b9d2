package inputids

import (
	"github.com/pointsman/pointsman/core/chat"
	"github.com/pointsman/pointsman/statesvc/tokenize"
	"github.com/pointsman/pointsman/statesvc/wirepb"
)

// Of answers a question for the ids of a request, of which the caller takes at most a
// number. Only a chat has messages to be forwarded with. The ids are not copied.
func Of(dialect chat.Dialect, body string, tokens *tokenize.Tokens, most uint32) *wirepb.InputIDs {
	if dialect != chat.DialectChat {
		return &wirepb.InputIDs{Verdict: wirepb.InputIDsVerdict_INPUT_IDS_NO_MESSAGES}
	}
	verdict := wirepb.InputIDsVerdict_INPUT_IDS_TOKENIZE_FAILED
	if tokens.Reason != tokenize.ReasonBody && tokens.Reason != tokenize.ReasonTooLarge {
		verdict = Shape(body)
	}
	if verdict != wirepb.InputIDsVerdict_INPUT_IDS_GIVEN {
		return &wirepb.InputIDs{Verdict: verdict}
	}
	switch {
	case tokens.Certainty != tokenize.Exact || len(tokens.IDs) == 0:
		verdict = wirepb.InputIDsVerdict_INPUT_IDS_TOKENIZE_FAILED
	case !tokens.Compared:
		verdict = wirepb.InputIDsVerdict_INPUT_IDS_UNVERIFIED
	case uint64(len(tokens.IDs)) > uint64(most):
		verdict = wirepb.InputIDsVerdict_INPUT_IDS_TOO_LONG
	default:
		return &wirepb.InputIDs{Verdict: verdict, Ids: tokens.IDs}
	}
	return &wirepb.InputIDs{Verdict: verdict}
}
