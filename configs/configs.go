// Package configs holds the shipped configurations, so that commands and tests
// use the very files that people copy.
package configs

import "embed"

// FS has the shipped files by their path in this folder, like
// filter/demo.json and envoy/override-host.yaml.
//
//go:embed filter envoy istio
var FS embed.FS
