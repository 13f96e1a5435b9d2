// Package kv soaks the KV index: very many fake caches with churn, whose events go
// through the wire's encoding into one index with a byte budget, while lookups run beside
// it. It judges that the budget holds, that nothing grows, that no lookup promises more
// than the engine has, and that nothing is left when all engines are gone; it reports what
// a lookup takes while nothing is written and while events pour in.
package kv
