//go:build unix

package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"
)

// What otelprof does beside the program's own spans, in a service of 800 requests a second and 31
// spans each (program paced): recordings and their analysis, and a page that is open or closed.
const (
	backgroundClosed = "background_closed"
	backgroundOpen   = "background_open"
	memoryPeak       = "memory_peak"
	analysisP99      = "analysis_p99"
)

// The most of each: percent of one core, MiB, and the 99th percentile with recordings one after the
// other beside that without.
const (
	mostClosed = 1
	mostOpen   = 3
	mostMiB    = 64
	mostP99    = 1.05
)

// A pacedRun is what the service said of itself.
type pacedRun struct{ requests, seconds, cpu, p99, peak float64 }

// busy is the part of one core that it had, in percent.
func (r pacedRun) busy() float64 { return 100 * r.cpu / r.seconds }

func runBackground(w io.Writer, match *regexp.Regexp, dir string, rounds int, arm time.Duration) error {
	if !slices.ContainsFunc([]string{backgroundClosed, backgroundOpen, memoryPeak, analysisP99}, match.MatchString) {
		return nil
	}
	program, err := buildRuntime(dir, "paced", true)
	if err != nil {
		return err
	}
	ten, minute, half := lengths(arm)
	if match.MatchString(backgroundClosed) || match.MatchString(backgroundOpen) || match.MatchString(memoryPeak) {
		if err := writeBackground(w, program, ten, minute); err != nil {
			return err
		}
	}
	if !match.MatchString(analysisP99) {
		return nil
	}
	var x []float64
	run := func(args []string) (pacedRun, error) { return servePaced(program, half, args...) }
	if err := inTurn(min(rounds, 5), []string{"-side", "all", "-record"}, []string{"-side", "quiet"}, run, func(ours, peer pacedRun) {
		x = append(x, ours.p99/peer.p99)
	}); err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "ratio %s ours/peer=%.3f lo=%.3f hi=%.3f rounds=%d seconds=%.0f clock=wall target=ours/peer<=%g holds=%s\n",
		analysisP99, quantile(x, 0.5), quantile(x, 0.25), quantile(x, 0.75), len(x), half.Seconds(), mostP99, yes(quantile(x, 0.5) <= mostP99))
	return err
}

// writeBackground writes what ten minutes take by default, beside ten minutes without recordings
// and page, and beside the SDK alone.
func writeBackground(w io.Writer, program string, ten, minute time.Duration) error {
	var quiet, closed, open, sdk pacedRun
	for _, run := range []struct {
		of     *pacedRun
		length time.Duration
		args   []string
	}{
		{&quiet, ten, []string{"-side", "quiet"}},
		{&closed, ten, []string{"-side", "all"}},
		{&open, ten, []string{"-side", "all", "-look"}},
		{&sdk, minute, []string{"-side", "sdk"}},
	} {
		var err error
		if *run.of, err = servePaced(program, run.length, run.args...); err != nil {
			return err
		}
	}
	for _, f := range []struct {
		name string
		ours pacedRun
		most float64
	}{{backgroundClosed, closed, mostClosed}, {backgroundOpen, open, mostOpen}} {
		percent := f.ours.busy() - quiet.busy()
		if _, err := fmt.Fprintf(w, "ratio %s percent=%.2f ours=%.2f peer=%.2f peer_name=without-recordings requests_per_second=%.0f seconds=%.0f clock=cpu target=percent<=%g holds=%s\n",
			f.name, percent, f.ours.busy(), quiet.busy(), f.ours.requests/f.ours.seconds, f.ours.seconds, f.most, yes(percent <= f.most)); err != nil {
			return err
		}
	}
	const kib = 1 << 10 // of a MiB
	ours := max(closed.peak, open.peak)
	mib := (ours - sdk.peak) / kib
	_, err := fmt.Fprintf(w, "ratio %s mib=%.0f ours=%.0f peer=%.0f peer_name=otel-sdk seconds=%.0f target=mib<=%d holds=%s\n",
		memoryPeak, mib, ours/kib, sdk.peak/kib, closed.seconds, mostMiB, yes(mib <= mostMiB))
	return err
}

// servePaced runs the service for some time. It exports nothing.
func servePaced(program string, d time.Duration, args ...string) (r pacedRun, err error) {
	run := exec.Command(program, append(args, "-for", d.String())...)
	run.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "OTEL") })
	for _, signal := range []string{"TRACES", "METRICS", "LOGS"} {
		run.Env = append(run.Env, "OTEL_"+signal+"_EXPORTER=none")
	}
	err = answerOf(run, "requests=%g seconds=%g cpu_seconds=%g p99_us=%g peak_kib=%g", &r.requests, &r.seconds, &r.cpu, &r.p99, &r.peak)
	return r, err
}
