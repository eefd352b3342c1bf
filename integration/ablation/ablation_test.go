package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime/trace"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelprof/otelprof/causal"
	"github.com/otelprof/otelprof/integration/accuracy/workloads"
)

// TestAblation asks a real program's traces with all rules, and without one of them.
func TestAblation(t *testing.T) {
	w := workloads.ReplayedWorkloads(workloads.PlainTypes)[0]
	dir := filepath.Join(t.TempDir(), w.Name)
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	c, err := causal.NewController()
	if err != nil {
		t.Fatal(err)
	}
	p := workloads.Start(w, c.Hook())
	time.Sleep(100 * time.Millisecond)
	for i := range 3 {
		var b bytes.Buffer
		if err := trace.Start(&b); err != nil {
			t.Fatal(err)
		}
		time.Sleep(400 * time.Millisecond)
		trace.Stop()
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("w%d.trace", i+1)), b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.End(); err != nil {
		t.Fatal(err)
	}
	if err := c.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	truth := fmt.Sprintf("# %s\nP 2\nprogress done\n%s 0.50 10 9 11\n%s 0.95 20 19 21\nother 0.50 1 0 2\n", w.Name, w.Regions[0], w.Regions[0])
	if err := os.WriteFile(filepath.Join(dir, "truth.txt"), []byte(truth), 0o666); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := run(context.Background(), []string{"-rules", "^objects$", filepath.Dir(dir)}, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`rule=none programs=1 coverage=[01]\.000 mean_abs_error=\d+\.\d\d median_width=\d+\.\d\d sure_and_wrong=[01] withheld=1\n`,
		`\nablation rule=objects cells=[01] coverage=[+-]\d\.000 `,
	} {
		if !regexp.MustCompile(want).MatchString(out.String()) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

func TestArguments(t *testing.T) {
	for _, args := range [][]string{{}, {"a", "b"}, {"-rules", "(", "a"}, {"-only", "(", "a"}, {t.TempDir()}, {"-none"}} {
		if err := run(context.Background(), args, &strings.Builder{}); err == nil {
			t.Errorf("%q: no error", args)
		}
	}
}

func TestSummarize(t *testing.T) {
	at := func(points, predicted, from, to float64) cell {
		return cell{truth: truth{points: points}, given: true, predicted: predicted, from: from, to: to}
	}
	all := []cell{at(10, 11, 9, 12), at(10, 20, 15, 25), at(10, 12, 11, 13), {}}
	want := summary{coverage: 1. / 3, meanAbsError: 13. / 3, medianWidth: 3, sureWrong: 1, withheld: 1}
	if diff := cmp.Diff(want, summarize(all), cmp.AllowUnexported(summary{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	without := []cell{all[0], at(10, 20, 14, 25), {}, {}}
	if got, programs := differ(all, without); got != 2 || len(programs) != 1 {
		t.Errorf("%d cells of %q differ, want 2 of one program", got, programs)
	}
	if got, want := fmt.Sprint(summarize(without).since(want)), "coverage=+0.167 mean_abs_error=+1.17 median_width=+8.00 sure_and_wrong=+0 withheld=+1"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
