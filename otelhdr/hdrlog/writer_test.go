package hdrlog

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

// A failingWriter fails its first calls, and counts all.
type failingWriter struct {
	text         strings.Builder
	calls, fails int
}

func (w *failingWriter) Write(p []byte) (int, error) {
	if w.calls++; w.calls <= w.fails {
		return 0, io.ErrShortWrite
	}
	return w.text.Write(p)
}

// TestWriterWritesOnce: a line of many kilobytes is one call, and the header is written again after
// a call that has failed.
func TestWriterWritesOnce(t *testing.T) {
	out := &failingWriter{fails: 1}
	start := time.Unix(1_700_000_000, 0)
	w := NewWriter(out, start)
	i := Interval{Start: start, Length: time.Second, Snapshot: snapshotOf(t, values(20_000))}
	if err := w.Write(i); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("Write = %v, want the error of the writer", err)
	}
	for range 2 {
		if err := w.Write(i); err != nil {
			t.Fatal(err)
		}
	}
	if text := out.text.String(); out.calls != 3 || strings.Count(text, "StartTimestamp") != 1 || len(text) < 3*4096 {
		t.Errorf("%d calls, %d headers, %d bytes; want 3, 1 and many", out.calls, strings.Count(text, "StartTimestamp"), len(text))
	}
	if all, err := ReadAll(strings.NewReader(out.text.String())); len(all) != 2 || err != nil {
		t.Errorf("%d intervals, %v, want 2", len(all), err)
	}
}
