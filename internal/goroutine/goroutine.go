// Package goroutine identifies goroutines.
package goroutine

import (
	"bytes"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
)

// An ID is the number of a goroutine, the one that stack traces show. It is never given twice;
// zero is no goroutine's.
type ID uint64

// Current returns the ID of the calling goroutine, in about two nanoseconds, and zero if
// Known is false.
//
// The runtime keeps the number in its record of the goroutine, at a place that differs between
// versions of Go. The place is learned by the first call, in about 20 µs, from four goroutines
// whose numbers are known from their stack traces.
func Current() ID {
	offset := place.Load()
	if offset <= notFound {
		if offset = known(); offset == notFound {
			return 0
		}
	}
	return ID(word(offset))
}

// Known reports whether Current works: on amd64 and arm64, if the place was found.
func Known() bool { return known() != notFound }

// place is where the number lies in the runtime's record, once that has been learned.
var (
	place   atomic.Uintptr
	learned sync.Once
)

// known learns the place, if that has not been tried.
func known() uintptr {
	learned.Do(func() { place.Store(max(learn(), notFound)) })
	return place.Load()
}

const (
	// notFound stands for no place; the words of a record have others.
	notFound = 1
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
