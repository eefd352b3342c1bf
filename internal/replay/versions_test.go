package replay

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	xtrace "golang.org/x/exp/trace"

	"github.com/otelprof/otelprof/internal/replay/trace"
)

// TestGoVersions reads a real trace of each version of Go that has this format, by the program in
// testdata/versions: go run . > go1.28.trace, then gzip.
func TestGoVersions(t *testing.T) {
	files, err := filepath.Glob("testdata/versions/*.trace.gz")
	if err != nil || len(files) < 6 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			f, err := os.Open(file)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			z, err := gzip.NewReader(f)
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(z)
			if err != nil {
				t.Fatal(err)
			}
			seen := changesIn(t, text)
			want := []goChange{
				{xtrace.GoUndetermined, xtrace.GoRunning},
				{xtrace.GoUndetermined, xtrace.GoWaiting},
				{xtrace.GoNotExist, xtrace.GoRunnable},
				{xtrace.GoRunnable, xtrace.GoRunning},
				{xtrace.GoRunning, xtrace.GoRunnable},
				{xtrace.GoRunning, xtrace.GoWaiting},
				{xtrace.GoWaiting, xtrace.GoRunnable},
				{xtrace.GoRunning, xtrace.GoSyscall},
				{xtrace.GoSyscall, xtrace.GoRunning},
				{xtrace.GoRunning, xtrace.GoNotExist},
			}
			if filepath.Base(file) != "go1.22.trace.gz" { // which has no coroutines
				want = append(want, goChange{xtrace.GoNotExist, xtrace.GoWaiting})
			}
			for _, c := range want {
				if !seen[c] {
					t.Errorf("no change from %v to %v in the trace", c.from, c.to)
				}
			}
			rec, err := trace.Read(bytes.NewReader(text))
			if err != nil || rec.Cut != nil {
				t.Fatal(err, rec.Cut)
			}
			if n := Count(rec, "request"); n != 120 {
				t.Errorf("%d requests, want 120", n)
			}
			got := map[string]float64{}
			for _, a := range answersOf(t, rec, 0.5) {
				if a.Metric == Throughput && a.Withheld == WithheldNone && a.Lo <= a.Reduction && a.Reduction <= a.Hi {
					got[a.Region.Name] = a.Reduction
				}
			}
			want50 := map[string]float64{"read rows": 1. / 6, "render": 1. / 3, "request": 0} // which has no time of its own
			if diff := cmp.Diff(want50, got, cmpopts.EquateApprox(0, .02)); diff != "" {
				t.Errorf("answers at 50 %% (-want +got):\n%s", diff)
			}
		})
	}
}
