// Package kvwire encodes what engines publish of their caches and their load: batches of
// KV events as SGLang 0.5.23 and vLLM from 0.9.2 on encode them, and SGLang's load
// reports. fixtures/README.md sections 2 and 5 describe both; for the same events the
// bytes are those that were recorded.
package kvwire
