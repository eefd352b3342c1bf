package admission

import (
	"testing"
	"time"
)

func TestTracesAllocs(t *testing.T) {
	var known traces
	key := new(int)
	known.Reserve(key, false, 0, 1, time.Hour)
	if got := testing.AllocsPerRun(1000, func() {
		known.Reserve(key, false, 0, time.Millisecond, time.Hour)
		known.Settle(key, time.Millisecond, time.Millisecond)
	}); got != 0 {
		t.Errorf("a delay allocates %v times, want 0", got)
	}
}

func BenchmarkTraces(b *testing.B) {
	var known traces
	key := new(int)
	b.ReportAllocs()
	for b.Loop() {
		known.Reserve(key, false, 0, 1, time.Hour)
		known.Settle(key, 1, 0)
	}
}
