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
}

// Verdicts lists the verdicts, the oldest release first. The last one holds for
// later releases too.
func Verdicts() []Verdict {
	return []Verdict{
		{"1.32 and older", "unsupported", "cannot load modules of standard Go", 33},
		{"1.33", "degraded", "cannot show a held body to the filter: routing by headers; override_host is not verified", 34},
		{"1.34", "degraded", "cannot show a held body to the filter: routing by headers; override_host takes one endpoint, so no transport_retry", 35},
		{"1.35", "minimum", "routes by body; the route's request_body_buffer_limit is unknown to it: raise the listener's limit", 36},
		{"1.36", "ok", "routes by body; request_body_buffer_limit counts at the router only: raise the listener's limit", 37},
		{"1.37 and 1.38", "ok", "routes by body; request_body_buffer_limit counts from the route match on", 39},
		{"1.39 and 1.40", "target", "routes by body; the host's garbage collection fault is fixed", 41},
		{"1.41 and newer", "untested", "newer than what was tested; nothing is known against it", 1 << 15},
	}
}

// Judge gives the verdict on a release.
func Judge(v Version) Verdict {
	all := Verdicts()
	for _, verdict := range all {
		if v.before(verdict.below) {
			return verdict
		}
	}
	return all[len(all)-1]
}
