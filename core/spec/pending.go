package spec

import "github.com/pointsman/pointsman/core/policy"

// fed lists the prefix sources that something feeds: a line is added once the
// state service does. Until then a configuration that names another one, or none
// and so the default, is refused.
func fed() []string {
	return []string{
		policy.SourceHistory,
	}
}
