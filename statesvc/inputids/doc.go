// Package inputids decides whether a chat may be forwarded to its engine with its token
// ids, so that the engine does not tokenize it again (engine-selection.md 12.5).
//
// An engine that is given ids computes with them and does not look at the messages. They
// must therefore be what the engine would have made of the chat, for certain: chats whose
// rendering depends on more than plain messages are left alone, and so are tokens that no
// engine was compared with.
package inputids
