package doctor

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/pointsman/pointsman/hostsim/doctor/tree"
)

// Version is a release of Envoy.
type Version struct{ Major, Minor, Patch int }

// ParseVersion reads a version such as 1.36 or v1.36.4.
func ParseVersion(text string) (Version, error) {
	var v Version
	parts := strings.Split(strings.TrimPrefix(text, "v"), ".")
	if len(parts) != 2 && len(parts) != 3 {
		return v, fmt.Errorf("%q is not a version of Envoy; write for example 1.36.4", text)
	}
	for i, p := range parts {
		n, err := strconv.ParseUint(p, 10, 16)
		if err != nil {
			return v, fmt.Errorf("%q is not a version of Envoy; write for example 1.36.4", text)
		}
		*[]*int{&v.Major, &v.Minor, &v.Patch}[i] = int(n)
	}
	return v, nil
}

func (v Version) String() string { return fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Patch) }

// before reports whether v is older than the release 1.minor.
func (v Version) before(minor int) bool {
	return v.Major < 1 || v.Major == 1 && v.Minor < minor
}

// istioVersion reads the version of Istio's agent from the node of a dump, which may go on
// with the kind of the build.
func istioVersion(node tree.At) *Version {
	text, _, _ := strings.Cut(node.Get("metadata", "ISTIO_VERSION").Text(), "-")
	v, err := ParseVersion(text)
	if err != nil {
		return nil
	}
	return &v
}

// nodeVersion reads the version from the node of a configuration dump.
func nodeVersion(node tree.At) *Version {
	at := node.Get("user_agent_build_version", "version")
	if !at.Exists() {
		return nil
	}
	number := func(key string) int { n, _ := at.Get(key).Uint(); return int(min(n, 1<<15)) }
	return &Version{Major: number("major_number"), Minor: number("minor_number"), Patch: number("patch")}
}

// Verdict is what a release of Envoy can do for the filter (envoy.md 15).
type Verdict struct {
	Releases string `json:"releases"`
	Verdict  string `json:"verdict"`
	Means    string `json:"means"`

	below int // the first minor release it does not hold for
	only  *Version
}

// Verdicts lists the verdicts, the oldest release first. One that is for one release only
// stands before that of its line. The last one holds for later releases too.
func Verdicts() []Verdict {
	return []Verdict{
		{Releases: "1.32 and older", Verdict: "unsupported", Means: "cannot load modules of standard Go", below: 33},
		{Releases: "1.33", Verdict: "degraded", Means: "cannot show a held body to the filter: routing by headers; override_host is not verified", below: 34},
		{Releases: "1.34", Verdict: "degraded", Means: "cannot show a held body to the filter: routing by headers; override_host takes one endpoint, so no transport_retry", below: 35},
		{Releases: "1.35", Verdict: "minimum", Means: "routes by body; the route's request_body_buffer_limit is unknown to it: raise the listener's limit", below: 36},
		{Releases: "1.36", Verdict: "ok", Means: "routes by body; request_body_buffer_limit counts at the router only: raise the listener's limit", below: 37},
		{Releases: "1.38.3", Verdict: "avoid", Means: "its wheel was built without V8 and runs no wasm: use 1.38.2", only: &Version{1, 38, 3}},
		{Releases: "1.37 and 1.38", Verdict: "ok", Means: "routes by body; request_body_buffer_limit counts from the route match on", below: 39},
		{Releases: "1.39 and 1.40", Verdict: "target", Means: "routes by body; the host's garbage collection fault is fixed", below: 41},
		{Releases: "1.41 and newer", Verdict: "untested", Means: "newer than what was tested; nothing is known against it", below: 1 << 15},
	}
}

// Judge gives the verdict on a release.
func Judge(v Version) Verdict {
	all := Verdicts()
	for _, verdict := range all {
		if verdict.only != nil && *verdict.only == v || verdict.only == nil && v.before(verdict.below) {
			return verdict
		}
	}
	return all[len(all)-1]
}
