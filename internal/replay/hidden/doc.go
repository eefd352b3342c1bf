// Package hidden finds operations on locks, channels and condition variables that a trace of an
// unmodified program does not mark: what goroutines do between two landmarks each time, such that
// all waits are explained and none is contradicted.
package hidden
