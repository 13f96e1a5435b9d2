package doctor

import (
	"regexp"
	"slices"
	"strings"

	"github.com/pointsman/pointsman/hostsim/doctor/tree"
)

// condition is a comparison in a JSONPath: @.a.b=='text'.
type condition struct{ field, value string }

// steps writes keys in brackets as keys behind dots.
func steps(path string) string {
	return regexp.MustCompile(`\[['"]([^'"\]]*)['"]\]`).ReplaceAllString(path, ".$1")
}

// conditions are the comparisons that a JSONPath chooses filters by. Those that stand
// before http_filters are about other parts of the listener.
func conditions(find string) (list []condition) {
	if _, after, found := strings.Cut(find, "http_filters"); found {
		find = after
	}
	for _, found := range regexp.MustCompile(`@\.?([\w.@]*)\s*==\s*['"]([^'"]*)['"]`).FindAllStringSubmatch(steps(find), -1) {
		list = append(list, condition{found[1], found[2]})
	}
	return list
}

// holds reports whether a filter may meet a condition. Envoy Gateway names the filter by
// the policy, and the plugin in it as the policy names it (envoy.md 9.2).
func (c condition) holds(f *filter) bool {
	own := ""
	switch {
	case c.field == "name" && f.generated != "":
		own = f.generated
	case c.field == "name":
		own = f.name
	case strings.HasSuffix(c.field, "config.name") && f.generated != "":
		own = f.name
	case strings.HasSuffix(c.field, "config.name"):
		own = f.body.Get("config", "name").Text()
	case strings.HasSuffix(c.field, "config.root_id"):
		own = first(f.body.Get("rootID"), f.body.Get("config", "root_id")).Text()
	}
	return own == "" || own == c.value
}

// eachPatched calls visit for the plugins that a patch is for. A JSONPath names a filter
// as Envoy Gateway does; a plain path names it by its place in the chain, which is not
// known here, and is taken for every filter.
func (r *gatewayReader) eachPatched(find tree.At, visit func(*filter)) {
	wanted := conditions(find.Text())
	hit := false
	for _, f := range r.chain.filters {
		if f.plugin != nil && !slices.ContainsFunc(wanted, func(c condition) bool { return !c.holds(f) }) {
			hit = true
			visit(f)
		}
	}
	if !hit && len(wanted) > 0 {
		r.proxy.miss(find, "no filter here has %s %s", wanted[0].field, wanted[0].value)
	}
}

// pluginField reports whether a patch sets a field of a plugin where plugins have it, and
// notes a miss where it does not.
func (r *gatewayReader) pluginField(operation tree.At, field string) bool {
	place := strings.ReplaceAll(steps(operation.Get("jsonPath").Text()), ".", "/") + "/" + strings.TrimPrefix(operation.Get("path").Text(), "/")
	if strings.HasSuffix(place, "typed_config/config/"+field) {
		return true
	}
	r.proxy.miss(first(operation.Get("jsonPath"), operation.Get("path")), "%s is a field of typed_config.config", field)
	return false
}

// listenerHere reports whether a patch's name is a listener of the Gateway that its policy
// is for, and notes a miss where it is not. A Gateway that is not here has any.
func (r *gatewayReader) listenerHere(o manifest, patch tree.At) bool {
	name, target := patch.Get("name"), o.spec.Get("targetRef")
	if target.Get("kind").Text() != "Gateway" || strings.Count(name.Text(), "/") != 2 {
		return true // of merged gateways, or named by protocol and port
	}
	var names []string
	r.each("Gateway", func(g manifest) {
		if g.name != target.Get("name").Text() || g.namespaceOrDefault() != o.namespaceOrDefault() {
			return
		}
		for _, l := range g.spec.Get("listeners").Items() {
			names = append(names, g.namespaceOrDefault()+"/"+g.name+"/"+l.Get("name").Text())
		}
	})
	if len(names) == 0 || slices.Contains(names, name.Text()) {
		return true
	}
	r.proxy.miss(name, "no listener here is %s; there is %s", name.Text(), strings.Join(names, ", "))
	return false
}
