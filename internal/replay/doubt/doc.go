// Package doubt finds where a recording leaves open what a faster program would do: work by time or
// by visits, pauses, batches, token buckets, refused offers, clients that share connections. Each
// doubt is a part of the time, or another program that may be the true one.
package doubt
