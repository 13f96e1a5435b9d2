package plugin

import (
	"github.com/pointsman/pointsman/core/flow"
	"github.com/pointsman/pointsman/core/spec"
	"github.com/pointsman/pointsman/wasmfilter/internal/abi"
)

// aborter tells engines to end requests that nobody waits for any more. Nobody
// waits for the answers of its calls either: they come to the plugin, which knows
// no such call.
type aborter struct {
	cluster string
	header  string // that names the engine to the cluster
	timeout uint32 // milliseconds
	failing bool   // the last call was not taken; logged once

	message, headers []byte // of the call being made
}

func (a *aborter) configure(cfg *spec.Abort, header string) {
	if cfg != nil {
		a.cluster, a.header, a.timeout = cfg.Cluster, header, uint32(*cfg.TimeoutMillis)
	}
}

// tell makes the call. The stream is the effective context, so that the client's
// authorization can be read: engines with a key ask for it there too.
func (a *aborter) tell(e *flow.Effect) {
	pairs := make([][2]string, 0, 6)
	pairs = append(pairs,
		[2]string{":method", "POST"},
		[2]string{":path", "/abort_request"},
		[2]string{":authority", e.Endpoint},
		[2]string{"content-type", "application/json"},
		[2]string{a.header, e.Endpoint},
	)
	if authorization, err := abi.RequestHeader("authorization"); err == nil {
		pairs = append(pairs, [2]string{"authorization", authorization})
	}
	a.headers = abi.AppendPairs(a.headers[:0], pairs)
	a.message = append(a.message[:0], `{"rid":"`...)
	a.message = append(a.message, e.Text...)
	a.message = append(a.message, `","abort_all":false}`...)
	_, err := abi.Call(a.cluster, a.headers, a.message, a.timeout)
	if err != nil && !a.failing {
		logf(abi.LevelError, "abort.cluster %q takes no call, engines go on with what clients gave up: %v", a.cluster, err)
	}
	a.failing = err != nil
}
