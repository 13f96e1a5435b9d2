// Package gauges adds up what filter contexts say of the workers (design
// section 4). A context reports gauges, not events, so a lost, repeated or late
// report costs freshness and nothing else: the next one corrects it.
//
// A Book keeps the last report of every live context and a running total per
// worker life, so that a report costs its own length whatever the number of
// contexts. It is pure: instants are arguments, and it is not safe for
// concurrent use. Its memory is bounded by Limits.
package gauges
