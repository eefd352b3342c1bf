// Package goroutine tells goroutines apart.
package goroutine

import (
	"bytes"
	"runtime"
	"strconv"
)

// An ID is the number of a goroutine, the one that stack traces show. It is never given twice;
// zero is nobody's.
type ID uint64

// Current returns the ID of the calling goroutine, in about two nanoseconds, and zero if
// Known is false.
//
// The runtime keeps the number in its record of the goroutine, at a place that differs between
// versions of Go. The place is learned when the program starts, from goroutines whose
// numbers are known from their stack traces.
func Current() ID {
	if offset == 0 {
		return 0
	}
	return ID(word(offset))
}

// Known reports whether Current works: on amd64 and arm64, if the place was found.
func Known() bool { return offset != 0 }

// offset is where the number lies in the runtime's record, 0 if that is not known.
var offset = learn()

const (
	// recordBytes is looked through. The record is larger than that.
	recordBytes = 320
	wordBytes   = 8
	// witnesses must agree on one place.
	witnesses = 4
)

func learn() uintptr {
	if !hasRecord {
		return 0
	}
	var agree [recordBytes / wordBytes]int
	done := make(chan struct{})
	for range witnesses {
		go func() {
			defer close(done)
			if id, ok := fromStack(); ok {
				for i := range agree {
					if word(uintptr(i*wordBytes)) == id {
						agree[i]++
					}
				}
			}
		}()
		<-done
		done = make(chan struct{})
	}
	found := uintptr(0)
	for i, n := range agree {
		if n == witnesses {
			if found != 0 {
				return 0
			}
			found = uintptr(i * wordBytes)
		}
	}
	return found
}

// fromStack reads the number off the first line of a stack trace, "goroutine 7 [running]:".
func fromStack() (uint64, bool) {
	var trace [64]byte
	line := trace[:runtime.Stack(trace[:], false)]
	fields := bytes.Fields(line)
	if len(fields) < 2 {
		return 0, false
	}
	id, err := strconv.ParseUint(string(fields[1]), 10, 64)
	return id, err == nil
}
