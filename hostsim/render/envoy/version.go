package envoy

import (
	"regexp"
	"strconv"
)

// Minor releases of Envoy 1 (envoy.md section 15).
const (
	// Floor is the first that can hold a request's headers until its body is known.
	Floor = 35
	// routeLimits is the first with a buffer limit on routes.
	routeLimits = 36
	// usual is what a bootstrap is for unless told otherwise: the oldest Envoy that
	// every release is tested with.
	usual = 36
)

var version = regexp.MustCompile(`^v?1\.(\d{1,3})(\.\d{1,3})?$`)

// Minor reads the minor release out of a version like 1.36, 1.40.0 or v1.40.0.
func Minor(text string) (int, bool) {
	found := version.FindStringSubmatch(text)
	if found == nil {
		return 0, false
	}
	n, err := strconv.Atoi(found[1])
	return n, err == nil
}
