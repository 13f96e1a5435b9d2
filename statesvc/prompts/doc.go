// Package prompts answers what a filter asks about the prompt of one request
// (design section 3, step 4): how long it is, in tokens, and how much of it each
// engine has in its KV cache.
//
// It joins the tokenizers, which tell the tokens, with the index of engines' events,
// which is asked about them. What neither can tell is left out of the answer and so
// unavailable, with the reason.
package prompts
