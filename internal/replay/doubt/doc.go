// Package doubt finds where a recording leaves open what a faster program would do: work by time or
// by visits, pauses, batches, token buckets, refused offers, clients that share connections.
//
// A trace shows one run. The replay repeats its branches, its sizes and its counts, so it is wrong
// where a faster program would branch, size or count otherwise. Each file here looks for one such
// place, and what it finds takes one of three forms. Package replay makes an interval of them, in
// its files doubts.go, bounds.go and widen.go.
//
//   - Another program that meets the recording as well, an [Alternative]. The interval of an answer
//     spans what all of them bring: [Confine], [OfClients], [BothWays], [FindBuckets].
//   - A part of the time. It widens the interval, or leaves bounds alone where it is above a limit:
//     [Pauses], [Balanced].
//   - A mark on a progress point. It leaves bounds alone: [Refused].
//
// A false doubt costs width: the interval is wider than need be. A doubt that is missed costs
// truth: the interval is too narrow. [OfClients] and [BothWays] can cost more, since they may put
// another program in the place of the first. They do so only where its replay of nothing changed
// meets the recording within [MaxDeviation].
//
// [Split] and [Roomier] are no doubts. They build the program that a question about its structure
// is about.
package doubt
