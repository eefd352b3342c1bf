package view

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/otelprof/otelprof/cmd/otelprof/internal/command"
	"github.com/otelprof/otelprof/cmd/otelprof/internal/saved"
	"github.com/otelprof/otelprof/cmd/otelprof/internal/whatif"
	"github.com/otelprof/otelprof/spans"
	"github.com/otelprof/otelprof/spans/schedule"
	"github.com/otelprof/otelprof/viewer"
)

// savedData is what files hold: what the reader makes of them, and what an execution trace has.
type savedData struct {
	*saved.Data
	schedule     *schedule.Report
	scheduleFile string
}

// Open reads files, and returns a viewer of what they hold. An execution trace is simulated, too.
func Open(ctx context.Context, c *command.Call, names []string, opts ...viewer.Option) (*viewer.Handler, error) {
	r, err := saved.NewReader()
	if err != nil {
		return nil, err
	}
	d, err := readSaved(ctx, c, r, "", names)
	if err != nil {
		return nil, err
	}
	if d.Profile == nil && d.scheduleFile != "" && d.scheduleFile != standardInput {
		p, err := whatif.OfTraces(ctx, c, []string{d.scheduleFile})
		if err != nil {
			fmt.Fprintf(c.Stderr, "otelprof: %s: not simulated: %v\n", d.scheduleFile, err)
		} else {
			d.Profile = &p
		}
	}
	return newSavedViewer(d, nil, opts...)
}

const standardInput = "standard input"

func (d savedData) empty() bool {
	return d.Sessions+len(d.Regions) == 0 && d.Profile == nil && d.Stacks == nil && d.schedule == nil
}

// A savedReader takes files of all kinds.
type savedReader struct {
	*saved.Reader
	schedule     *schedule.Report
	scheduleFile string
}

// readSaved reads all files, those of one run if it has a name. Unreadable input is reported on
// stderr; it is an error only if nothing could be read.
func readSaved(ctx context.Context, c *command.Call, reader *saved.Reader, run string, args []string) (savedData, error) {
	began := time.Now()
	r := &savedReader{Reader: reader}
	var names []string
	for _, name := range args {
		if name != "-" {
			names = append(names, name)
		}
	}
	err := saved.EachFile(names, func(name string, in io.Reader) error { return r.read(ctx, name, in) })
	if len(names) < len(args) {
		err = errors.Join(err, r.read(ctx, standardInput, c.Stdin))
	}
	d := savedData{r.Data(), r.schedule, r.scheduleFile}
	if d.empty() && err != nil {
		return d, err
	}
	if err != nil {
		fmt.Fprintf(c.Stderr, "otelprof: left out: %s\n", strings.ReplaceAll(err.Error(), "\n", "\notelprof: left out: "))
	}
	if len(d.Regions) == 0 {
		d.Regions = regionsOf(d.schedule)
	}
	writeSaved(c.Stderr, d, run, time.Since(began))
	if d.empty() {
		return d, fmt.Errorf("%s: nothing to show: no spans, regions, profiles or execution traces", strings.Join(args, ", "))
	}
	return d, nil
}

// traceStart and traceMark are in the first 16 bytes of an execution trace, around Go's version.
var traceStart, traceMark = []byte("go 1."), []byte(" trace\x00")

// read takes an execution trace; all else is the reader's.
func (r *savedReader) read(ctx context.Context, name string, from io.Reader) error {
	in := bufio.NewReaderSize(from, 1<<16)
	start, err := in.Peek(16)
	if err != nil || !bytes.HasPrefix(start, traceStart) || !bytes.Contains(start, traceMark) {
		return r.Read(ctx, name, in) // an error comes again
	}
	if r.schedule != nil {
		return fmt.Errorf("%s: must be the only execution trace; %s is shown", name, r.scheduleFile)
	}
	report, err := schedule.Analyze(ctx, in)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if len(report.Regions) == 0 {
		return fmt.Errorf("%s: %d events without a region: must be recorded while a schedule.Recorder is on", name, report.Events)
	}
	r.schedule, r.scheduleFile = report, name
	return nil
}

// regionsOf makes regions of an execution trace alone: it has how often and how long in all, and
// no percentiles.
func regionsOf(report *schedule.Report) []spans.RegionStats {
	if report == nil {
		return nil
	}
	var out []spans.RegionStats
	for _, r := range report.Regions {
		s := spans.RegionStats{Name: r.Name, Count: r.Count, Total: r.Total.Sum(), Self: r.Self.Sum()}
		s.Scope.Name = r.Scope
		out = append(out, s)
	}
	return out
}

// writeSaved writes what was read, and what could not be.
func writeSaved(w io.Writer, d savedData, run string, took time.Duration) {
	files := len(d.Files)
	for _, f := range d.Files {
		for _, p := range f.Problems {
			note := ""
			if saved.Torn(p) {
				note = " (the file was being written, or its writer was killed)"
			}
			fmt.Fprintf(w, "otelprof: %v; left out%s\n", p, note)
		}
		if more := f.Damaged - len(f.Problems); more > 0 {
			fmt.Fprintf(w, "otelprof: %s: %d more\n", f.File, more)
		}
		if f.SeriesDropped > 0 {
			fmt.Fprintf(w, "otelprof: %s: %d points left out: too many regions\n", f.File, f.SeriesDropped)
		}
	}
	if n := d.Dropped.SessionFull; n > 0 {
		fmt.Fprintf(w, "otelprof: %d spans left out of sessions that are too long; they are counted in the regions\n", n)
	}
	if d.schedule != nil {
		files++
		fmt.Fprintf(w, "%s: an execution trace of %v, %d events\n", d.scheduleFile, d.schedule.Window.Round(time.Millisecond), d.schedule.Events)
	}
	var nSpans, points int
	for _, f := range d.Files {
		nSpans += f.Spans
		points += f.Points
	}
	what := fmt.Sprintf("%d sessions of", d.Sessions)
	if run != "" { // it may be one that keeps no sessions
		what = "run " + run + ":"
	}
	fmt.Fprintf(w, "%s %d spans, %d regions, %d metric points from %d files in %v\n",
		what, nSpans, len(d.Regions), points, files, took.Round(time.Millisecond))
}
