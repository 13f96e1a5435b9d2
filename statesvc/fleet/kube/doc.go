// Package kube follows the EndpointSlices of Kubernetes (engine-selection.md 14.1). It is
// the only package that knows Kubernetes' client.
//
// What becomes of an endpoint:
//
//   - Its worker's ID is {namespace}/{UID of the pod}; without a target
//     {namespace}/{slice}/{address}:{port}. The UID is the incarnation too: another pod at
//     the same address is another life.
//   - A pod in several slices, of one Service or more, is one worker behind all of them;
//     with addresses of both families it is reached over IPv4.
//   - Ready, or without that condition: it takes requests. Terminating: it drains. Not
//     ready, or terminating and not serving: it stays a member and takes no requests, so
//     that what is known of it survives a readiness probe that flaps.
//   - No address, or a slice of host names: there is nothing to route to.
//   - The port is that of the settings or of the slice's annotation, by name or number;
//     else the first of the slice, 30000 where it names none.
//
// A slice's role is prefill or decode by the selectors of the settings. Else its
// annotations and labels say what the engine is not asked for: pointsman.io/role,
// pointsman.io/models (names separated by commas), pointsman.io/version-group,
// pointsman.io/port. Kubernetes copies a Service's labels to its slices, not its
// annotations. A slice with a value that makes no sense is left out and told.
//
// Slices are kept one by one and their union is told, 100 ms after a change: an endpoint
// that moves from one slice to another is not gone in between.
//
// The service account needs the verbs list and watch on endpointslices of the API group
// discovery.k8s.io: by a Role in the namespace that is followed, by a ClusterRole for all.
package kube
