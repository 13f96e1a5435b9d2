// Package recorded reads recordings of engines' event streams: what e2e/testdata/engines
// holds, and what a person records to find out why there are no hits. A recording has
// one JSON value per line; unknown keys are ignored, so a recording may carry notes.
//
// Readers stop at the first line they cannot read, with its number. A line may have at
// most 32 MB.
package recorded
