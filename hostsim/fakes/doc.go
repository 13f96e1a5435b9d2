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
// The ids depend on the text alone: of a piece, FNV-1a modulo 151,000. A chat is tools, then each message as
// 151644, role, 198, content, 151645, 198, then 151644, "assistant", 198. /tokenize answers with these in the dialect's shape,
// and the prefix cache works on them, so a chat that goes on begins with the tokens it had.
//
// # Output
//
// max_completion_tokens, or else max_tokens, is produced in full (finish_reason "length"); without either the engine
// produces DefaultOutputTokens (finish_reason "stop"). Ids and words depend on the seed and the order of arrival only.
//
// # Other dialects
//
// /v1/responses, /v1/messages, /v1/embeddings and SGLang's /generate are answered at once, without a slot, and whole
// even where a stream was asked for; they are recorded and counted like the others. All but embeddings go through the prefix
// cache.
//
// # Prefix cache and KV events
//
// With [Config.KV] each rank has the prefix cache of its dialect (package kvcache): hits shorten prefill and are in the usage,
// salt and adapter separate prompts, /reset_prefix_cache (vLLM) and /flush_cache (SGLang) empty it. With [KVConfig.Publish] it says what it
// stores and gives up on ZMQ (packages kvwire, kvfeed), at the ports that /server_info and /kv_event_sources name; with
// [KVConfig.Load] SGLang's load frames follow the queue. [Engine.Feed] makes gaps, repeats, slow replays and messages that
// no engine would send; a stopped and started engine publishes from sequence 0 on the same ports.
//
// Blocks are reserved per request as if nothing were shared, so a sequence always has room; of a request with many choices
// those without room are computed whole and not kept.
//
// # Failures and notes
//
// Failures ([Engine.Refuse], [Engine.Status], [Engine.Hang], ...) are switched while the engine runs. [Engine.Requests]
// and [Engine.Counters] tell what arrived; they belong to the tester and survive a restart, while everything that the
// engine itself reports starts anew with each process.
//
// In prefill/decode an engine plays its own part only: decode does not wait for the prefill engine of its room, and stores a
// prompt that was prefilled elsewhere as if it had been received.
package fakes
