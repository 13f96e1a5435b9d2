// Package story runs scripted scenarios against the filter on a virtual clock
// and prints what an operator would read.
//
// A [File] is a sequence of steps in the datadriven format: a command, optional
// input, a line of four dashes, the expected output. A [Host] is where the
// filter runs: [Native] steps core/flow directly, [Wasm] runs filter.wasm in
// hostsim. Both print from the receipts of the filter, so one file must give the
// same text on both.
//
// A story plays the clients, the engines and the state service itself; nothing
// listens and nothing sleeps. README.md has the commands. A File may be run many
// times; one run uses one goroutine.
package story
