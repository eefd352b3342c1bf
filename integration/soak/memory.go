package main

import (
	"fmt"
	"runtime"
	"slices"
)

// memory is what the heap and the goroutines were after each plan.
type memory struct {
	heap       []uint64 // bytes
	goroutines []int
}

func (m *memory) look() {
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	m.heap, m.goroutines = append(m.heap, s.HeapAlloc), append(m.goroutines, runtime.NumGoroutine())
}

const (
	// mostGrowth is what the heap may grow by, bytes: the spans of the stream that lasts, of which
	// a session keeps 4096, and what plans differ by.
	mostGrowth = 5 << 20
	// moreGoroutines are those of requests that happen to be open.
	moreGoroutines = 50
)

// flat compares the first third of the looks with the last, by medians: a look may meet a profile
// that is being made.
func (m *memory) flat() bool {
	heap, goroutines := ends(m.heap), ends(m.goroutines)
	return heap[0] > 0 && heap[1] < heap[0]+mostGrowth && goroutines[1] < goroutines[0]+moreGoroutines
}

func (m *memory) String() string {
	heap, goroutines := ends(m.heap), ends(m.goroutines)
	return fmt.Sprintf("heap=%.1fMiB..%.1fMiB of=+%dMiB goroutines=%d..%d looks=%d",
		float64(heap[0])/(1<<20), float64(heap[1])/(1<<20), mostGrowth>>20, goroutines[0], goroutines[1], len(m.heap))
}

// ends are the medians of the first third and of the last, zeros if nothing was seen.
func ends[T uint64 | int](all []T) (of [2]T) {
	if len(all) == 0 {
		return of
	}
	third := (len(all) + 2) / 3
	for i, part := range [][]T{all[:third], all[len(all)-third:]} {
		of[i] = slices.Sorted(slices.Values(part))[(third-1)/2]
	}
	return of
}
