package mark_test

import (
	"io"
	"runtime/trace"
	"testing"

	"github.com/otelprof/otelprof/internal/mark"
	"github.com/otelprof/otelprof/internal/testutil"
)

var object mark.Object

// writers are all ways to write a mark.
var writers = []struct {
	name  string
	write func()
}{
	{"start", func() {
		mark.LogStart("scope", mark.Span{ID: 0xc00012a000, Parent: 0xc00012b000, SpanID: 1 << 63, Name: "GET /cart"})
	}},
	{"start of a sampled one", func() {
		mark.LogStart("scope", mark.Span{ID: 0xc00012a000, Parent: 0xc00012b000, SpanID: 1 << 63, Trace: [16]byte{1}, Name: "GET /cart"})
	}},
	{"end", func() { mark.LogEnd("scope", 0xc00012a000, "") }},
	{"renamed", func() { mark.LogEnd("scope", 0xc00012a000, "GET /basket") }},
	{"progress", func() { mark.LogProgress("order placed") }},
	{"operation", func() { object.Done(mark.Lock, 0) }},
	{"small argument", func() { object.Done(mark.Send, 16) }},
	{"large argument", func() { object.Done(mark.Send, 1024) }},
	{"none", mark.LogNone},
}

func TestAllocs(t *testing.T) {
	if err := trace.Start(io.Discard); err != nil {
		testutil.Lacks(t, "TRACE", err.Error())
	}
	defer trace.Stop()
	for _, w := range writers {
		// A garbage collection may empty the pool meanwhile.
		if n := testing.AllocsPerRun(1000, w.write); n >= 1 {
			t.Errorf("%s allocates %v times, want 0", w.name, n)
		}
	}
}

// BenchmarkLog is the cost of one mark while a trace is on.
func BenchmarkLog(b *testing.B) {
	if err := trace.Start(io.Discard); err != nil {
		b.Skipf("this process is being traced: %v", err)
	}
	defer trace.Stop()
	for _, w := range writers {
		b.Run(w.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				w.write()
			}
		})
	}
}
