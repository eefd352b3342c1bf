package whatif

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/cmd/otelprof/internal/command"
)

func TestReadSpeedups(t *testing.T) {
	var w whatif
	if err := w.readSpeedups("50, 10%,50"); err != nil || fmt.Sprint(w.speedups) != "[0.1 0.5]" {
		t.Errorf("readSpeedups = %v, %v, want 0.1 and 0.5", w.speedups, err)
	}
	for _, bad := range []string{"", "0", "100", "-5", "x", "10,,20", "NaN"} {
		if err := new(whatif).readSpeedups(bad); err == nil {
			t.Errorf("readSpeedups(%q) succeeded, want an error", bad)
		}
	}
}

func TestWhatifWrites(t *testing.T) {
	curve := func(region string) profile.Curve {
		c := profile.Curve{Mode: profile.ModeReplay, Region: profile.Region{Name: region}, Progress: "request", Metric: profile.MetricThroughput}
		for _, s := range []float64{0.25, 0.5} {
			c.Effects = append(c.Effects, profile.Effect{Speedup: s, Reduction: s / 2, Lo: s/2 - 0.01, Hi: s/2 + 0.01, Samples: 5})
		}
		return c
	}
	p := profile.Profile{Curves: []profile.Curve{curve("own"), curve("locked")}}
	var out strings.Builder
	w := whatif{Call: &command.Call{Stdout: &out}, region: "l*", speedups: []float64{0.5}}
	if err := w.write(p); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); !strings.Contains(got, "locked") || strings.Contains(got, "own") || strings.Contains(got, "25 %") {
		t.Errorf("with a region and a speed-up of 50 %%:\n%s", got)
	}
	if len(p.Curves) != 2 || len(p.Curves[1].Effects) != 2 {
		t.Error("the profile itself has become smaller")
	}
	for _, w := range []whatif{{region: "lokced"}, {speedups: []float64{0.3}}} {
		w.Call = &command.Call{Stdout: io.Discard}
		if err := w.write(p); !errors.Is(err, command.ErrUsage) || !strings.Contains(err.Error(), "there is locked, own at [25 50] %") {
			t.Errorf("nothing matches: %v, want what does", err)
		}
	}
}

// The token is named where it would help, and not where a program cannot record at all.
func TestTokenIsARemedyForWhatRefusesIt(t *testing.T) {
	for status, remedy := range map[int]bool{http.StatusUnauthorized: true, http.StatusForbidden: true, http.StatusConflict: false} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPost {
					w.WriteHeader(status)
					return
				}
				_ = profile.Profile{}.WriteJSON(w)
			}))
			defer server.Close()
			var errs strings.Builder
			if err := Command.Execute(nil, []string{"-wait", "1s", "-json", server.URL}, nil, io.Discard, &errs); err != nil {
				t.Fatal(err)
			}
			if got := errs.String(); strings.Contains(got, "with the viewer's token in OTELPROF_TOKEN") != remedy || !strings.Contains(got, fmt.Sprint("refused, ", status)) {
				t.Errorf("of %d: %q, want the token named: %t", status, got, remedy)
			}
		})
	}
}
