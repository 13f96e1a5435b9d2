// Package version names the build. The linker sets the values (see wasmbuild).
package version

// Version is the release and Commit the source revision of this build.
var (
	Version = "dev"
	Commit  = "unknown"
)
