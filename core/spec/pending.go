package spec

import "github.com/pointsman/pointsman/core/policy"

// SourceRemote is the prefix source that an indexer outside the state service
// would be (engine-selection.md 11).
const SourceRemote = "remote"

// fed lists the prefix sources that something feeds: a line is added once
// something does. A configuration that names another one is refused.
func fed() []string {
	return []string{
		policy.DefaultPrefixSource,
		policy.SourceHistory,
	}
}
