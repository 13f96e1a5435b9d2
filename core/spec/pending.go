package spec

import "github.com/pointsman/pointsman/core/policy"

// fed lists the prefix sources that something feeds: a line is added once
// something does. A configuration that names another one is refused.
func fed() []string {
	return []string{
		policy.DefaultPrefixSource,
		policy.SourceHistory,
		policy.SourceRemote,
	}
}
