//go:build race

package kvindex_test

// racing tells that the race detector makes everything an order slower.
const racing = true
