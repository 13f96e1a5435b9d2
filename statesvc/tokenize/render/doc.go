// Package render turns a chat request into the text that its engine tokenizes: the
// engine's own way with messages and tools, then the model's chat template.
//
// What vLLM and SGLang do differently is kept apart by Engine. Whatever this package
// does not know to be done alike is refused with a reason, never guessed.
package render
