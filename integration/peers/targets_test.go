package main

import (
	"fmt"
	"io"
	"testing"
)

func TestTargetWriter(t *testing.T) {
	w := &targetWriter{Writer: io.Discard}
	fmt.Fprintln(w, "# go1.26 linux/amd64")
	fmt.Fprintln(w, "ratio span_idle ours=1 peer=1 x=1.00 target=x>=0.93 holds=yes")
	fmt.Fprintln(w, "ratio span_regions ours=1 peer=1 x=1.00 target=none holds=-")
	if err := w.err(); err != nil {
		t.Errorf("err = %v with all targets met", err)
	}
	fmt.Fprintln(w, "ratio span_full ours=2 peer=1 x=0.50 target=x>=0.75 holds=no")
	fmt.Fprintln(w, "error otel_percentiles worst=0.2 holds=no export_buckets=3")
	if err := w.err(); err == nil || err.Error() != "2 targets are missed: span_full, otel_percentiles" {
		t.Errorf("err = %v, want the two that are missed", err)
	}
}
