// Package bucket selects the engines of a request: which buckets take its
// length, and which engine, or pair of engines, serves it in each.
//
// A Resolver orders the buckets of a model. A Bucket owns the choice between a
// plain engine and a prefill/decode pair. An EngineGroup owns membership: it
// hands its policy the live candidates and checks what comes back (POLICY_DESIGN
// sections 2 and 3). Nothing here charges, claims or sends (invariant I3).
//
// Resolvers, buckets and groups keep scratch space between calls, so a
// successful selection allocates nothing. They are single-threaded.
package bucket
