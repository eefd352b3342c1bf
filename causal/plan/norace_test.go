//go:build !race

package plan

const raceFactor = 1
