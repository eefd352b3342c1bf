package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/otelprof/otelprof/causal"
)

// TestTryBuild asks about a program of two milliseconds under a lock, and writes a trace of it.
func TestTryBuild(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(t.TempDir(), "small")
	if err := os.Symlink(self, binary); err != nil {
		t.Fatal(err)
	}
	o := options{settings: settings{
		speedups: []float64{0.5}, windows: 1, record: causal.MinWindow,
		pairs: 1, window: 100 * time.Millisecond, settle: 20 * time.Millisecond, warm: 100 * time.Millisecond,
	}}
	traced := o
	traced.traces = filepath.Join(t.TempDir(), "traces")
	truth := o
	truth.truth = true
	for _, tc := range []struct {
		name    string
		options options
		want    []string
	}{
		{"replay", o, []string{"\naccuracy small mode=replay build=go processes=1 region=query speedup=0.50 ", "\naccuracy SUMMARY small mode=replay build=go cells=1 ", "# small: windows that are alike differ by "}},
		{"truth", truth, []string{"\n# truth small build=go region=query speedup=0.50 actual="}},
		{"traces", traced, []string{"w1.trace: "}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var out bytes.Buffer
			if err := (lab{options: tc.options, out: &out}).tryBuild(context.WithoutCancel(t.Context()), small, stock, binary); err != nil {
				t.Fatal(err)
			}
			for _, want := range tc.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("no %q in\n%s", want, &out)
				}
			}
		})
	}
	if text, err := os.ReadFile(filepath.Join(traced.traces, "w1.trace")); err != nil || !bytes.HasPrefix(text, []byte("go 1.")) {
		t.Errorf("trace = %.20q, %v", text, err)
	}
	if _, err := os.Stat(binary + ".profile.json"); err != nil {
		t.Error(err)
	}
}
