// Package traffic makes the requests of workloads: chats that grow turn by turn
// behind shared system prompts, and a hot prompt that everybody sends. The same
// seed makes the same requests. It neither sends nor times them.
package traffic
