// Package prompt finds what of a request's body an engine tokenizes, and which
// features of the API that takes. It keeps the JSON of members as the client wrote it
// (field report D01).
package prompt
