package schedule

import (
	"context"
	"runtime/trace"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	"github.com/otelprof/otelprof/spans"
)

// The starts and ends of regions stand in the trace as log events of the scope's name:
//
//	otelprof+c00012a000 name
//	otelprof-c00012a000
//
// The number tells the regions that are open at the same time apart: where they are in memory. The
// trace's own regions would not do: it takes one that ends on another goroutine, or not in the order
// of a stack, for damage.
const (
	startMark = "otelprof+"
	endMark   = "otelprof-"

	// maxName is how much of a name is written.
	maxName = 200
)

var buffers = sync.Pool{New: func() any { return new([len(startMark) + 16 + 1 + maxName]byte) }}

// mark writes the start or the end of a region into the trace. It allocates nothing.
func mark(kind string, r *spans.Region) {
	buffer := buffers.Get().(*[len(startMark) + 16 + 1 + maxName]byte)
	text := append(buffer[:0], kind...)
	text = strconv.AppendUint(text, uint64(uintptr(unsafe.Pointer(r))), 16)
	if kind == startMark {
		name := r.Name()
		text = append(append(text, ' '), name[:min(len(name), maxName)]...)
	}
	// The runtime has copied the text when Log returns.
	trace.Log(context.Background(), r.Scope().Name, unsafe.String(&text[0], len(text)))
	buffers.Put(buffer)
}

// parseMark reads the text of a log event; ok is false if it is not ours.
func parseMark(text string) (id uint64, name string, start, ok bool) {
	rest, start := strings.CutPrefix(text, startMark)
	if !start {
		if rest, ok = strings.CutPrefix(text, endMark); !ok {
			return 0, "", false, false
		}
	}
	number, name, named := strings.Cut(rest, " ")
	id, err := strconv.ParseUint(number, 16, 64)
	return id, name, start, err == nil && named == start
}
