// Package claims merges what several sources say about which engines there are into one
// list of workers.
//
// The rules:
//
//   - The address, host:port as it was written, identifies a worker: two sources that
//     name one address mean one worker. A name and the address it stands for are two.
//   - Sources have an order of rank: static, file, http, kubernetes, dns. Of each field
//     that says something, the word of the highest rank counts; services are united.
//   - The ID is that of the highest rank that gives one; without any it is the address.
//     It depends on what the sources say and not on who spoke first, so that replicas
//     agree.
//   - A worker drains if any source says so or an operator ordered it.
//   - A worker is there as long as one source names it. What a source no longer says is
//     gone with its next list.
//   - An ID that two addresses claim is the higher rank's; the other one is left out and
//     told as a conflict.
//
// It is pure: no clock, no I/O, no goroutine.
package claims
