//go:build !amd64

package highrate

// returnWord returns noWord: where the return address is on other architectures is not sampled.
func returnWord(uint64) word { return noWord }
