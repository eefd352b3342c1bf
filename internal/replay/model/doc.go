// Package model makes a recording a program: for each goroutine a list of operations (computing,
// waiting, operating on an object, spans that begin and end), objects (locks, channels and the
// like), and what inference finds about both. [Builder] translates what is recorded; packages cond
// and infer find the rest, and package sim replays it.
package model
