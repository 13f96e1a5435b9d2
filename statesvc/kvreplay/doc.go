// Package kvreplay answers why there are no hits: it takes recorded frames of engines'
// event sockets (e2e/testdata/engines) through the decoder and the index that the
// service uses, says what each message meant, and holds what the index would have
// predicted against what the engine then found in its cache.
package kvreplay
