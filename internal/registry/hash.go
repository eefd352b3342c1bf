package registry

import "hash/maphash"

var seed = maphash.MakeSeed()

// String returns a hash of a text, in a few nanoseconds. It differs from process to process.
func String(s string) uint64 { return maphash.String(seed, s) }

// Mix returns a hash of two values of which each is one.
func Mix(a, b uint64) uint64 { return a ^ (b*0x9e3779b97f4a7c15 + a<<6 + a>>2) }
