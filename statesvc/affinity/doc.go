// Package affinity keeps which engine a key is bound to: sessions and routing
// keys, each in one scope of model, bucket and stage (POLICY_DESIGN sections 5 and
// 6, engine-selection.md 17).
//
// A scope is a Digest: what a client sent as a key is never stored, so neither a
// long nor a secret key leaves anything behind (field report H12). A binding records
// preferred placement. It is no charge on the engine and no proof that a request ran
// there.
//
// Store is what the rest of the service knows; every implementation passes the suite
// of package affinitytest.
package affinity
