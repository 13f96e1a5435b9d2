package spec

import (
	"slices"
	"strconv"

	"github.com/pointsman/pointsman/core/chat"
)

// abort checks how engines are told of requests to end, and refuses it where no
// request could ever be named.
func (v *validator) abort() {
	named := slices.ContainsFunc(v.cfg.Workers, func(w Worker) bool { return w.Engine == EngineSGLang })
	for i, w := range v.cfg.Workers {
		at := index("workers", i) + ".engine"
		switch {
		case w.Engine == "":
		case w.Engine != EngineSGLang:
			v.add(at, strconv.Quote(w.Engine)+" is not a choice", `use "sglang", or leave it out for any other engine`)
		case v.cfg.Abort == nil:
			v.add(at, `has no effect without "abort"`, "leave it out")
		}
	}
	a := v.cfg.Abort
	if a == nil {
		return
	}
	if a.Cluster == "" {
		v.add("abort.cluster", "is required", "name the host's cluster of the engines")
	}
	v.between("abort.timeout_ms", a.TimeoutMillis, 1, 60_000)
	if v.whole.fleet && v.cfg.State == nil && !named {
		v.add("abort", "has no effect: no worker is known to end requests by rid, and there is no state service to find out",
			`write "engine": "sglang" into the workers it is true of, or leave it out`)
	}
	if v.cfg.Paths != nil && !slices.ContainsFunc(v.cfg.Paths, func(p string) bool { return chat.DialectOf(p).TakesRid() }) {
		v.add("abort", "has no effect: in none of the paths a request can be given a rid", "leave it out")
	}
}
