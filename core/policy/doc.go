// Package policy picks one engine of a group's candidates, admission included.
//
// A policy is given the candidates in ID order and the facts of one request. It
// reads load through the LoadView it was built with, decides where admission
// belongs in its algorithm (POLICY_DESIGN section 4), and returns one of the
// candidates, the same object (invariant I1).
//
// README.md describes each policy and its parameters for people who configure them.
//
// An empty candidate list is a *core.NoCandidatesError and asks nothing of
// anyone. Errors carry the bucket and the stage of the request.
//
// Policies keep scratch space between picks so that a successful pick allocates
// nothing. They are therefore single-threaded: one policy serves one pick at a
// time, and a policy never keeps the candidate list.
package policy
