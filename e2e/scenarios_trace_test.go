package e2e

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pointsman/pointsman/e2e/envoytest"
	"github.com/pointsman/pointsman/hostsim"
)

// crossing is one guest callback and the host functions called in it. WASI
// functions are left out: the Go runtime calls them when it likes.
type crossing struct {
	callback string
	context  string
	host     []string
}

// String writes it as callback(host functions).
func (c crossing) String() string { return c.callback + "(" + strings.Join(c.host, " ") + ")" }

// tracer reads the calls between a host and the filter.
type tracer interface {
	// mark forgets what has happened so far.
	mark()
	// crossings are all callbacks since the mark, those of the plugin context included.
	crossings() []crossing
	// whole reports whether what the host has done for streams has reached the trace. It
	// is for a host that refused none of them by itself.
	whole() bool
}

// streamCrossings are the callbacks of streams since the mark. Several in a row
// of one name, such as those for parts of a body, are one.
func streamCrossings(t tracer) []crossing {
	var list []crossing
	for _, c := range t.crossings() {
		switch c.callback {
		case "proxy_on_tick", "proxy_on_http_call_response", "proxy_on_vm_start", "proxy_on_configure":
			continue
		}
		if n := len(list); n > 0 && list[n-1].callback == c.callback {
			list[n-1].host = append(list[n-1].host, c.host...)
			continue
		}
		list = append(list, c)
	}
	return list
}

// ended reports whether the streams that were made since the mark are over. It goes by
// the first thing a host does for a stream: an answer made in a callback can be with
// the client before that callback is in the trace.
func ended(t tracer) bool {
	open := map[string]bool{}
	for _, c := range t.crossings() {
		switch c.callback {
		case "proxy_on_context_create":
			open[c.context] = true
		case "proxy_on_vm_start", "proxy_on_configure", "proxy_on_delete":
			delete(open, c.context) // the first two are of plugin contexts
		}
	}
	return len(open) == 0
}

// count is how often a host function or callback was called since the mark.
func count(t tracer, name string) int {
	n := 0
	for _, c := range t.crossings() {
		if c.callback == name {
			n++
		}
		for _, h := range c.host {
			if h == name {
				n++
			}
		}
	}
	return n
}

// hostsimTracer reads a hostsim.Trace.
type hostsimTracer struct{ trace *hostsim.Trace }

func (t *hostsimTracer) mark() { t.trace.Reset() }

// whole is always so: hostsim makes a stream's context, and notes it, before anybody is
// answered.
func (t *hostsimTracer) whole() bool { return true }

func (t *hostsimTracer) crossings() []crossing {
	var (
		list []crossing
		host []string
	)
	for _, c := range t.trace.Calls() {
		switch {
		case c.Guest:
			list = append(list, crossing{c.Name, strconv.FormatUint(uint64(c.Context), 10), host})
			host = nil
		case strings.HasPrefix(c.Name, "proxy_"):
			host = append(host, c.Name)
		}
	}
	return list
}

// envoyTracer reads the trace that Envoy writes into its log. Each worker
// thread has a VM of its own.
type envoyTracer struct {
	envoy *envoytest.Envoy
	from  int
}

func (t *envoyTracer) mark() { t.from = len(t.envoy.Log()) }

// whole compares the streams that ended in the log with the requests that Envoy counts:
// its log comes through a pipe, and on a busy machine later than its answers.
func (t *envoyTracer) whole() bool {
	const requests = "http.ingress.downstream_rq_total"
	stats, err := t.envoy.Stats(requests)
	over := 0
	for _, m := range t.line().FindAllStringSubmatch(t.envoy.Log(), -1) {
		if m[2] == "proxy_on_delete" {
			over++
		}
	}
	return err == nil && int(stats[requests]) == over
}

// Group 1 is the thread, 2 a callback, 3 its context, 4 a host function.
func (t *envoyTracer) line() *regexp.Regexp {
	return regexp.MustCompile(`\]\[(\d+)\]\[trace\]\[wasm\].* (?:\[host->vm\] (\w+)\((\d*)|\[vm->host\] env\.(\w+)\()`)
}

func (t *envoyTracer) crossings() []crossing {
	var list []crossing
	running := map[string]int{} // by thread, the callback it is in
	for _, m := range t.line().FindAllStringSubmatch(t.envoy.Log()[t.from:], -1) {
		thread, callback, context, host := m[1], m[2], m[3], m[4]
		switch {
		case callback == "proxy_on_memory_allocate" || callback == "_initialize":
		case callback != "":
			list = append(list, crossing{callback: callback, context: context})
			running[thread] = len(list) - 1
		default:
			if i, ok := running[thread]; ok {
				list[i].host = append(slices.Clip(list[i].host), host)
			}
		}
	}
	return list
}
