// Package schema holds documents against the types that their readers have: the
// protobuf messages of Envoy and Istio, and the Go types of the Gateway API and of
// Envoy Gateway.
//
// Everything wrong with a document is found in one pass, with its place: keys that
// no field reads, two members of a oneof, values of another type. An Any is followed
// into the message that it names; one of a type that is not linked in here is left
// alone, since extensions may come from anywhere.
package schema
