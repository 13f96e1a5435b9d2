// Package fakes serves LLM engines that are not there: real HTTP, real streams, a real queue, no model.
//
// An [Engine] speaks the vLLM or the SGLang dialect (replies, errors, metrics names and administrative endpoints as
// recorded from vLLM 0.32.0 and SGLang 0.5.23) on a loopback port. It computes nothing; it spends the time that
// [Config] says an engine would spend, keeps slots, queue and KV gauges truthful while doing so, and frees them as
// soon as the client leaves. A [Fleet] is several engines started together.
//
// # Time
//
// A request waits in one FIFO queue per rank for a slot and for KV blocks (prompt and whole output budget are reserved,
// so nothing is ever preempted). Then it spends PrefillBase + PrefillPerToken x prompt tokens, sends its first token,
// and sends each later one DecodePerToken after the one before. A request holds one slot, however many choices it asks for.
//
// # Tokens
//
// Every run of non-space bytes of length L is ceil(L/4) tokens; white space is free. "word " repeated n times is n
// tokens. A chat adds 5 tokens per message and 3 for the reply's opening, an image or audio part counts 256, tools and
// tool calls count as their JSON text, and a prompt given as token ids counts its ids. Generated words are one token each, so an
// answer that comes back in the next turn counts as many tokens as it was billed for.
//
// # Output
//
// max_completion_tokens, or else max_tokens, is produced in full (finish_reason "length"); without either the engine
// produces DefaultOutputTokens (finish_reason "stop"). Ids and words depend on the seed and the order of arrival only.
//
// # Other dialects
//
// /v1/responses, /v1/messages, /v1/embeddings and SGLang's /generate are answered at once, without a slot, and whole
// even where a stream was asked for; they are recorded and counted like the others.
//
// # Failures and notes
//
// Failures ([Engine.Refuse], [Engine.Status], [Engine.Hang], ...) are switched while the engine runs. [Engine.Requests]
// and [Engine.Counters] tell what arrived; they belong to the tester and survive a restart, while everything that the
// engine itself reports starts anew with each process.
//
// There is no prefix cache and there are no KV events: cached tokens are not reported and kv_events is null. In
// prefill/decode an engine plays its own part only: decode does not wait for the prefill engine of its room.
package fakes
