package main

import (
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/otelprof/otelprof/pmuattrs"
)

var doctorCommand = &command{
	name:  "doctor",
	short: "Tell what can be measured on this machine, and what grants the rest",
	long: `
The exit status is 0 if spans can have counters of any source and, with -require, if all
checks named there are ok or limited; it is 1 otherwise. docs/doctor.md explains the checks.
`,
	run: func(c *call) error {
		asJSON := c.Bool("json", false, "print JSON")
		require := c.String("require", "", "comma-separated `checks` that have to work, such as hw or rusage,samples")
		if err := c.parse(0, 0); err != nil {
			return err
		}
		return c.doctor(pmuattrs.Probe(), *asJSON, *require)
	},
}

// doctor prints the report and returns an error if what is required does not work.
func (c *call) doctor(r pmuattrs.Report, asJSON bool, require string) error {
	var missing []string
	for name := range strings.SplitSeq(require, ",") {
		if name == "" {
			continue
		}
		check, ok := r.Check(name)
		if !ok && !slices.Contains(doctorChecks, name) {
			return usagef("check %q: must be one of %v", name, doctorChecks)
		}
		if !check.Status.Works() {
			missing = append(missing, name)
		}
	}
	if err := c.printReport(r, asJSON); err != nil {
		return err
	}
	switch {
	case len(missing) > 0:
		return fmt.Errorf("doctor: %s: required, but missing here", strings.Join(missing, ", "))
	case r.Source == pmuattrs.SourceNone:
		return fmt.Errorf("doctor: spans can have no counters here")
	}
	return nil
}

// doctorChecks are all that Linux has.
var doctorChecks = []string{
	"hw", "rusage", "rdpmc", "samples",
	"pmu", "perf_event_open", "perf_event_paranoid", "open_files", "locked_memory", "timerfd", "cpu_quota",
}

func (c *call) printReport(r pmuattrs.Report, asJSON bool) error {
	if !asJSON {
		return r.WriteTable(c.stdout, wantsColour(c.stdout, os.Getenv))
	}
	e := json.NewEncoder(c.stdout)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// wantsColour reports whether w is a terminal that shows colours, and its user has nothing against them: see
// no-color.org.
func wantsColour(w io.Writer, env func(string) string) bool {
	f, ok := w.(*os.File)
	if !ok || env("NO_COLOR") != "" || env("TERM") == "dumb" {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&fs.ModeCharDevice != 0
}
