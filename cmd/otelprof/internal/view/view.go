// Package view is the command view: saved files on the page.
package view

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/otelprof/otelprof/cmd/otelprof/internal/command"
	"github.com/otelprof/otelprof/cmd/otelprof/internal/saved"
	"github.com/otelprof/otelprof/internal/http/inprocess"
	"github.com/otelprof/otelprof/pmuattrs"
	"github.com/otelprof/otelprof/spans"
	"github.com/otelprof/otelprof/viewer"
)

// maxRuns is how many runs can be compared.
const maxRuns = 8

var Command = &command.Command{
	Name:  "view",
	Args:  "FILE…",
	Short: "Open saved traces, metrics, histograms and profiles in the viewer's page",
	Long: `
A FILE is OTLP-JSON, of otelprof or of the Collector's file exporter, an HdrHistogram log
(.hlog), a profile in pprof's format, a causal profile, .json or profile.coz, or a Go execution
trace. All but the trace may be gzipped; - is standard input, and a folder stands for the files
in it. docs/view.md says what each shows. Ctrl-C ends it.
`,
	Run: func(c *command.Call) error {
		listen := c.String("listen", "127.0.0.1:0", "loopback `address` to listen on; port 0 takes a free one")
		open := c.Bool("open", true, "open the page in the browser of this desktop")
		service := c.String("service", "", "show only what is of the service of this `name`")
		most := c.Int("sessions", 10_000, "`number` of sessions kept, those that ended last")
		trace := c.String("trace-url", "", "link sessions to this `address`, with {trace_id} in it")
		memory := c.Int("memory", 2048, "`MiB` that sessions may take")
		out := c.String("o", "", "write the page with all that it shows as one HTML `file`, in place of serving it; - for standard output")
		compare := c.Bool("compare", false, "take each FILE, or folder, as a run of its own, and compare them in the page: the first is the baseline, and the last is what the other views show")
		if err := c.ParseArgs(1, -1); err != nil {
			return err
		}
		if *compare && (c.NArg() < 2 || c.NArg() > maxRuns) {
			return command.Usagef("compare: %d files: must be in [2, %d]", c.NArg(), maxRuns)
		}
		newReader := func(sessions int) (*saved.Reader, error) {
			return saved.NewReader(saved.WithMaxSessions(sessions), saved.WithMaxBytes(int(min(int64(*memory)<<20, math.MaxInt))), saved.WithService(*service))
		}
		r, err := newReader(*most)
		if err != nil {
			return command.Usagef("%v", strings.TrimPrefix(err.Error(), saved.ErrConfig.Error()+": "))
		}
		// A signal ends the program at once while it reads: standard input, or a pipe, may not end.
		ctx := context.Background()
		var data savedData
		var runs []viewer.Run
		if *compare {
			data, runs, err = readRuns(ctx, c, newReader, *most)
		} else {
			data, err = readSaved(ctx, c, r, "", c.Args())
		}
		if err != nil {
			return err
		}
		ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
		defer stop()
		if n := data.Dropped.StoreError; n > 0 {
			fmt.Fprintf(c.Stderr, "otelprof: %d older sessions left out; their spans are counted in the regions; see -sessions and -memory\n", n)
		}
		if n := data.Alone; n > 0 {
			fmt.Fprintf(c.Stderr, "otelprof: %d spans without their session: their self time is taken to be the same part of their time as of the others in their region\n", n)
		}
		opts := []viewer.Option{viewer.WithHosts(ownHost)}
		if *trace != "" {
			opts = append(opts, viewer.WithTraceURL(*trace))
		}
		h, err := newSavedViewer(data, runs, opts...)
		if errors.Is(err, viewer.ErrConfig) {
			return command.Usagef("trace-url: %v", strings.TrimPrefix(err.Error(), viewer.ErrConfig.Error()+": "))
		}
		if err != nil {
			return err
		}
		if *out != "" {
			return c.OutputTo(*out, func(w io.Writer) error { return writePage(w, h) })
		}
		server, err := viewer.NewServer(*listen, h)
		if errors.Is(err, viewer.ErrConfig) {
			return command.Usagef("listen: %v", strings.TrimPrefix(err.Error(), viewer.ErrConfig.Error()+": "))
		}
		if err != nil {
			return err
		}
		fmt.Fprintln(c.Stdout, server.URL())
		if *open && command.IsTerminal(c) {
			openPage(server.URL())
		}
		<-ctx.Done()
		ended, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = server.Shutdown(ended) // open requests are cut off
		return nil
	},
}

// ownHost is the host of requests that come from this command itself.
const ownHost = "otelprof"

// writePage writes the page as one file.
func writePage(to io.Writer, h http.Handler) error {
	r, err := http.NewRequest(http.MethodGet, "http://"+ownHost+"/page.html", http.NoBody)
	if err != nil {
		return err
	}
	status, page := inprocess.Ask(h, r)
	if status != http.StatusOK {
		return fmt.Errorf("page: %s", page)
	}
	_, err = to.Write(page)
	return err
}

// readRuns reads each argument as a run of its own. The last is shown whole; of the others the
// regions and the call stacks are kept, to be compared with.
func readRuns(ctx context.Context, c *command.Call, newReader func(sessions int) (*saved.Reader, error), most int) (savedData, []viewer.Run, error) {
	var last savedData
	var runs []viewer.Run
	for i, arg := range c.Args() {
		kept := 1
		if i == c.NArg()-1 {
			kept = most
		}
		r, err := newReader(kept)
		if err != nil {
			return last, nil, err
		}
		name := runName(c.Args(), i)
		if last, err = readSaved(ctx, c, r, name, []string{arg}); err != nil {
			return last, nil, err
		}
		if len(last.Regions) == 0 && last.Stacks == nil {
			return last, nil, fmt.Errorf("%s: no regions and no call stacks: must have spans, metrics, values or a pprof profile to be compared", arg)
		}
		runs = append(runs, viewer.Run{Name: name, Regions: last.Regions, RelativeError: last.RelativeError, Stacks: last.Stacks})
	}
	return last, runs, nil
}

// runName is the file's, with its folder where another file is called the same.
func runName(args []string, i int) string {
	base := filepath.Base(args[i])
	for k, other := range args {
		if k != i && filepath.Base(other) == base {
			return args[i]
		}
	}
	return base
}

func newSavedViewer(d savedData, runs []viewer.Run, opts ...viewer.Option) (*viewer.Handler, error) {
	title := strings.Join(d.Services, ", ")
	if title == "" && len(d.Files) > 0 {
		title = filepath.Base(d.Files[0].File)
	}
	return viewer.NewHandler(viewer.Sources{
		Regions:  func() []spans.RegionStats { return d.Regions },
		Dropped:  func() spans.Dropped { return d.Dropped },
		Counters: func() []pmuattrs.RegionCounters { return d.Counters },
		Store:    d.Store,
		Service:  strings.TrimSpace(title + " (saved)"),
		Saved: &viewer.Saved{
			Profile: d.Profile, Stacks: d.Stacks, Schedule: d.schedule, Runs: runs, RelativeError: d.RelativeError,
		},
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
		go cmd.Wait() //nolint:errcheck // The page opens or not; the program goes on.
	}
}
