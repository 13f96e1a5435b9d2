// Package bench measures what Pointsman costs: the processor time, time and
// memory of a real Envoy with the filter against the same Envoy without, of the
// filter alone in hostsim, and of other routers under the same load.
//
// Every comparison is made in interleaved rounds (A B A B ...) on one machine and
// ratios are taken within a round, so that what else the machine does cancels.
// Rounds are short and many rather than few and long. Tables give the median
// round with the first and third quartile. Processor time is
// utime + stime of a named process; the load generator and the engines are other
// processes and are not in it.
package bench
