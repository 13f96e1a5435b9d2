// Package simulate runs a workload against model engines through compiled filters
// on a virtual clock: the same seed gives the same result, whatever the machine,
// in a fraction of the time.
//
// Engines are models: a number of slots, a time to answer that grows with the part
// of the prompt that is not cached, and a prefix cache of blocks that forgets the
// least recently used. Filters are the shipped module, one VM for each context,
// with shared data between them and a real state service behind them.
package simulate
