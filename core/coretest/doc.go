// Package coretest holds builders, fakes and naive oracles for tests of any
// package. Its fakes answer at once, count what they are asked, and are not safe
// for concurrent use.
package coretest

// Model is the model that the builders' workers serve and requests ask for.
const Model = "m"
