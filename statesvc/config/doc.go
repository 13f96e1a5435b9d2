// Package config holds the settings of the state service: inert types with
// defaults, a strict YAML reader, and validation that reports every problem of
// a file at once. It opens no sockets and starts nothing; callers are cmd,
// tests and embedders. A *Config is not changed after Parse returns it.
package config
