package hdr

import (
	"testing"

	"github.com/otelprof/otelprof/otelhdr"
	"github.com/otelprof/otelprof/otelhdr/hdrlog"
)

// TestJudgeFiles checks when intervals count as runs: values that come in disturbed runs must not
// count each.
func TestJudgeFiles(t *testing.T) {
	file := func(middles ...uint64) (f histogramFile) {
		for _, m := range middles {
			h, err := otelhdr.NewHistogram()
			if err != nil {
				t.Fatal(err)
			}
			for i := range uint64(1000) {
				h.Record(m + i)
			}
			f.intervals = append(f.intervals, hdrlog.Interval{Snapshot: h.Snapshot(nil)})
		}
		// One without values is no run.
		f.intervals = append(f.intervals, hdrlog.Interval{Snapshot: new(otelhdr.Snapshot)})
		return f
	}
	disturbed := []uint64{1e6, 2e6, 1e6, 1e6, 3e6, 1e6, 1e6, 1e6, 2e6, 1e6, 1e6}
	quiet := []uint64{900e3, 1e6, 2e6, 900e3, 900e3, 1e6, 3e6, 900e3, 900e3, 900e3, 900e3}
	for _, tt := range []struct {
		before, after []uint64
		want          otelhdr.Verdict
		of            string
	}{
		{disturbed, quiet, otelhdr.Undecided, "runs"},
		{disturbed[:10], quiet[:9], otelhdr.Faster, "values"},
	} {
		files := []histogramFile{file(tt.before...), file(tt.after...)}
		var sums [2]*otelhdr.Snapshot
		for i, f := range files {
			var err error
			if sums[i], err = merge([]histogramFile{f}); err != nil {
				t.Fatal(err)
			}
		}
		j, err := judgeFiles(otelhdr.Judge{}, files, sums)
		if err != nil || j.Verdict != tt.want || j.Of != tt.of {
			t.Errorf("%d and %d runs: %v, %v; want %s by %s", len(tt.before), len(tt.after), j, err, tt.want, tt.of)
		}
	}
}
