//go:build race

package main

// raced is true with the race detector, which makes recordings and programs that are built take
// minutes, and finds nothing in them that the packages' own tests do not.
const raced = true
