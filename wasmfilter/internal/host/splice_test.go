package host

import (
	"testing"

	"github.com/pointsman/pointsman/core/flow"
	"github.com/stretchr/testify/require"
)

func TestHeadWith(t *testing.T) {
	const body = `{"model":"m"}`
	end := len(body) - 1
	for name, tt := range map[string]struct {
		insertions []flow.Insertion
		want       string
	}{
		"in front":            {[]flow.Insertion{{At: 1, Text: `"a":1,`}}, `{"a":1,"model":"m"}`},
		"at the end":          {[]flow.Insertion{{At: end, Text: `,"a":1`}}, `{"model":"m","a":1}`},
		"both":                {[]flow.Insertion{{At: 1, Text: `"a":1,`}, {At: end, Text: `,"b":2`}}, `{"a":1,"model":"m","b":2}`},
		"two at the same end": {[]flow.Insertion{{At: end, Text: `,"a":1`}, {At: end, Text: `,"b":2`}}, `{"model":"m","a":1,"b":2}`},
	} {
		head, taken, err := headWith(body, tt.insertions)
		require.NoError(t, err, name)
		require.Equal(t, tt.want, head+body[taken:], name)
	}
	for name, bad := range map[string][]flow.Insertion{
		"before the body": {{At: 0}}, "behind the body": {{At: len(body)}}, "backwards": {{At: 5}, {At: 4}},
	} {
		_, _, err := headWith(body, bad)
		require.Error(t, err, name)
	}
}
