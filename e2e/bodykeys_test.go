package e2e

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// Sessions that clients name in the body only, as the Anthropic and OpenAI
// clients do, stay on one engine over two proxies.
func TestBodyKeys_hold_sessions(t *testing.T) {
	for _, h := range oneEnvoy() {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			one, other := bound(t, h, boundModels, `"session":{"body_fields":["metadata.user_id","user"]},`)
			engines := map[string]bool{}
			for i := range 16 {
				chat := `{"model":"m","max_tokens":2,"messages":[{"role":"user","content":"hello"}],`
				if i%2 == 0 {
					chat += fmt.Sprintf(`"user":"everybody","metadata":{"user_id":"user-%d"}}`, i)
				} else {
					chat += fmt.Sprintf(`"user":"user-%d"}`, i)
				}
				counts := many(8, 4, func(turn int) string { return []*rig{one, other}[turn%2].post(chat).engine() })
				require.Len(t, counts, 1, "session %d", i)
				for engine := range counts {
					engines[engine] = true
				}
			}
			require.Greater(t, len(engines), 3)
		})
	}
}
