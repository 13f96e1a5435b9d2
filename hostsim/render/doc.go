// Package render holds what the manifests of every target are rendered from, and
// what is common to them: the input, the files, refusals, and templates whose
// output is read back strictly.
//
// A target is a package below this one with a function
//
//	Render(in *render.Input) ([]render.File, error)
//
// Its error is of type [render.Refusals] where the input asks for what the target
// cannot express; all such refusals are reported at once. A target checks its own
// output against the types of the API it writes for, so that a key with a typing
// error is an error of Render and not a setting without effect in a cluster.
//
// Rendering is pure: the same input gives the same bytes.
package render
