// Package virtualtime keeps the books of experiments of mode overlap: an observation
// (observation.go) has the ledgers of goroutines (books.go), which hand virtual time over by relays
// (relay.go) and, at channels, by letters (chan_table.go). Package causal's drop-ins for locks and
// channels report to it what goroutines wait for.
package virtualtime
