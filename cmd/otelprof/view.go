package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/otelprof/otelprof/exporter/saved"
	"github.com/otelprof/otelprof/exporter/viewer"
	"github.com/otelprof/otelprof/pmuattrs"
	"github.com/otelprof/otelprof/spans"
)

var viewCommand = &command{
	name:  "view",
	args:  "FILE…",
	short: "Open saved traces, metrics, histograms and profiles in the viewer's page",
	long: `
A FILE is OTLP-JSON, of otelprof or of the Collector's file exporter, an HdrHistogram log
(.hlog), a profile in pprof's format, or a causal profile: .json or profile.coz. Each may be
gzipped; - is standard input, and a folder stands for the files in it. docs/view.md tells what is
made of them. Ctrl-C ends it.
`,
	run: func(c *call) error {
		listen := c.String("listen", "127.0.0.1:0", "loopback `address` to listen on; port 0 takes a free one")
		open := c.Bool("open", true, "open the page in the browser of this desktop")
		service := c.String("service", "", "show only what is of the service of this `name`")
		most := c.Int("sessions", 10_000, "`number` of sessions kept, those that ended last")
		trace := c.String("trace-url", "", "link sessions to this `address`, with {trace_id} in it")
		memory := c.Int("memory", 2048, "`MiB` that sessions may take")
		if err := c.parse(1, -1); err != nil {
			return err
		}
		r, err := saved.NewReader(saved.WithMaxSessions(*most), saved.WithMaxBytes(*memory<<20), saved.WithService(*service))
		if err != nil {
			return usagef("%v", strings.TrimPrefix(err.Error(), saved.ErrConfig.Error()+": "))
		}
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		data, err := c.readSaved(ctx, r)
		if err != nil {
			return err
		}
		h, err := newSavedViewer(data, *trace)
		if errors.Is(err, viewer.ErrConfig) {
			return usagef("trace-url: %v", strings.TrimPrefix(err.Error(), viewer.ErrConfig.Error()+": "))
		}
		if err != nil {
			return err
		}
		server, err := viewer.Listen(*listen, h)
		if errors.Is(err, viewer.ErrConfig) {
			return usagef("listen: %v", strings.TrimPrefix(err.Error(), viewer.ErrConfig.Error()+": "))
		}
		if err != nil {
			return err
		}
		fmt.Fprintln(c.stdout, server.URL())
		if *open && c.isTerminal() {
			openPage(server.URL())
		}
		<-ctx.Done()
		ended, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = server.Shutdown(ended) // whoever still reads is cut off
		return nil
	},
}

// readSaved reads all files. What can not be read is said; only if nothing is left, that is an error.
func (c *call) readSaved(ctx context.Context, r *saved.Reader) (*saved.Data, error) {
	began := time.Now()
	var names []string
	for _, name := range c.Args() {
		if name != "-" {
			names = append(names, name)
		}
	}
	files, err := saved.Files(names...)
	failed := []error{err}
	for _, file := range files {
		failed = append(failed, r.ReadFile(ctx, file))
	}
	if len(names) < c.NArg() {
		failed = append(failed, r.Read(ctx, "standard input", c.stdin))
	}
	if ctx.Err() != nil {
		return nil, errors.New("interrupted while reading")
	}
	d := r.Data()
	err = errors.Join(failed...)
	if len(d.Files) == 0 && err != nil {
		return nil, err
	}
	if err != nil {
		fmt.Fprintf(c.stderr, "otelprof: left out: %s\n", strings.ReplaceAll(err.Error(), "\n", "\notelprof: left out: "))
	}
	writeSaved(c.stderr, d, time.Since(began))
	if d.Sessions+len(d.Regions) == 0 && d.Profile == nil && d.Stacks == nil {
		return nil, errors.New("nothing to show: the files have no spans, regions or profiles")
	}
	return d, nil
}

// writeSaved says what was read, and what could not be.
func writeSaved(w io.Writer, d *saved.Data, took time.Duration) {
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
	if n := d.Dropped.StoreError; n > 0 {
		fmt.Fprintf(w, "otelprof: %d older sessions left out; their spans are counted in the regions; see -sessions and -memory\n", n)
	}
	if n := d.Dropped.SessionFull; n > 0 {
		fmt.Fprintf(w, "otelprof: %d spans left out of sessions that are too long; they are counted in the regions\n", n)
	}
	var nSpans, points int
	for _, f := range d.Files {
		nSpans += f.Spans
		points += f.Points
	}
	fmt.Fprintf(w, "%d sessions of %d spans, %d regions, %d metric points from %d files in %v\n",
		d.Sessions, nSpans, len(d.Regions), points, len(d.Files), took.Round(time.Millisecond))
}

func newSavedViewer(d *saved.Data, traceURL string) (*viewer.Handler, error) {
	title := strings.Join(d.Services, ", ")
	if title == "" {
		title = filepath.Base(d.Files[0].File)
	}
	var opts []viewer.Option
	if traceURL != "" {
		opts = append(opts, viewer.WithTraceURL(traceURL))
	}
	return viewer.New(viewer.Sources{
		Regions:  func() []spans.RegionStats { return d.Regions },
		Dropped:  func() spans.Dropped { return d.Dropped },
		Counters: func() []pmuattrs.RegionCounters { return d.Counters },
		Store:    d.Store,
		Service:  title + " (saved)",
		Saved:    &viewer.Saved{Profile: d.Profile, Stacks: d.Stacks, RelativeError: d.RelativeError},
	}, opts...)
}

// openPage shows the page in the desktop's browser, if there is one. The address is printed
// anyway.
func openPage(url string) {
	name, args := "xdg-open", []string{url}
	switch runtime.GOOS {
	case "darwin":
		name = "open"
	case "windows":
		name, args = "rundll32", []string{"url.dll,FileProtocolHandler", url}
	}
	if cmd := exec.Command(name, args...); cmd.Start() == nil {
		go cmd.Wait() //nolint:errcheck // There is nobody to tell.
	}
}

// isTerminal reports whether somebody sits before standard output.
func (c *call) isTerminal() bool {
	f, ok := c.stdout.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
