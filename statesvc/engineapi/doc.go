// Package engineapi speaks HTTP to one engine: the health probe, the metrics
// page, and the two ways engines describe themselves. Every answer is bounded
// in size, every call by its context; redirects are not followed and no proxy is
// used. A Client is safe for concurrent use; Close ends its connections.
package engineapi
