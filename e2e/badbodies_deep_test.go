package e2e

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A megabyte of brackets is the deepest body that is validated. Neither the
// guest's stack nor its memory may give in to it.
func TestBadBodies_deepest_nesting(t *testing.T) {
	const depth = 500_000
	for name, body := range map[string]string{
		"closed":  `{"model":"m","x":` + strings.Repeat("[", depth) + strings.Repeat("]", depth) + `}`,
		"open":    `{"model":"m","x":` + strings.Repeat("[", 2*depth) + `}`,
		"objects": `{"model":"m","x":` + strings.Repeat(`{"":`, depth/4) + "1" + strings.Repeat("}", depth/4) + `}`,
	} {
		t.Run(name, func(t *testing.T) {
			w := newVM(t, "", nil)
			x := w.chat(body)
			require.NoError(t, w.vm.Failure())
			t.Logf("status %q, endpoint %q, %d MiB of guest memory", x.status(), x.endpoint(), w.vm.MemoryBytes()>>20)
			require.Less(t, w.vm.MemoryBytes(), 200<<20)
			if x.endpoint() != "" {
				x.answer("200")
			}
			w.requireWorks()
		})
	}
}
