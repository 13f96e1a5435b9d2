//go:build race

package peaktest

// racing tells that the race detector watches.
const racing = true
