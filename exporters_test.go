package otelprof

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What has not changed is exported once, and again at the end, where Shutdown flushes and collects.
func TestExportOfUnchangedRegions(t *testing.T) {
	dir := t.TempDir()
	p, err := Setup(t.Context(), WithoutGlobals(), WithoutReplay(), WithDataDir(dir))
	if err != nil {
		t.Fatal(err)
	}
	_, span := p.TracerProvider().Tracer("shop").Start(t.Context(), "still")
	span.End()
	points := func() int {
		text, err := os.ReadFile(filepath.Join(dir, "metrics.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(text), `"still"`)
	}
	for range 3 {
		if err := p.meters.ForceFlush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if got := points(); got != 3 {
		t.Errorf("after three collections %d points of the region, want one of each of its three metrics", got)
	}
	if err := p.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := points(); got != 9 {
		t.Errorf("at the end %d points of the region, want 9", got)
	}
}
