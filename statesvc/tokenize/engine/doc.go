// Package engine asks an engine to tokenize: POST /tokenize of vLLM and SGLang
// (fixtures of vllm-0.32.0 and sglang-0.5.23). It is the authority on a model's tokens.
//
// Equal questions in flight are one call. Calls are bounded in number, in time by the
// callers' deadlines, and answers in size. A Client is safe for concurrent use; Close
// ends its calls and waits for them.
package engine
