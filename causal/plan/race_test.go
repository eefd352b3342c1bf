//go:build race

package plan

// raceFactor is by how much the race detector makes a program slower.
const raceFactor = 10
