//go:build !race

package causal

const raceFactor = 1
