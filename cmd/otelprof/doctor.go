package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/otelprof/otelprof/cmd/otelprof/internal/command"
	"github.com/otelprof/otelprof/cmd/otelprof/internal/doctor"
)

var doctorCommand = &command.Command{
	Name:  "doctor",
	Short: "Tell what can be measured on this machine, and what grants the rest",
	Long: `
The exit status is 0 if spans can have counters of any source and, with -require, if all
checks named there are ok or limited; it is 1 otherwise. docs/doctor.md explains the checks.

With -check it also runs work of which it is known what a CPU counts in it: additions that
wait for each other, branches at random, and a walk through memory. It prints what was
counted beside what was expected, and the exit status is 1 if that is off, or if there are
no counters. That takes up to some seconds of one processor, and up to 256 MiB.
`,
	Run: func(c *command.Call) error {
		asJSON := c.Bool("json", false, "print JSON")
		check := c.Bool("check", false, "run known work and hold the counters against it")
		require := c.String("require", "", "comma-separated `checks` that have to work, such as hw or rusage,samples")
		if err := c.ParseArgs(0, 0); err != nil {
			return err
		}
		report := doctor.Probe()
		var errCheck error
		if *check {
			report.Counts, errCheck = doctor.CheckCounters()
		}
		return errors.Join(checked(c, report, *asJSON, *require), errCheck)
	},
}

// checked prints the report and returns an error if what is required does not work.
func checked(c *command.Call, r doctor.Report, asJSON bool, require string) error {
	var missing []string
	for name := range strings.SplitSeq(require, ",") {
		if name == "" {
			continue
		}
		check, ok := r.Check(name)
		if !ok && !slices.Contains(doctorChecks, name) {
			return command.Usagef("check %q: must be one of %v", name, doctorChecks)
		}
		if !check.Status.Works() {
			missing = append(missing, name)
		}
	}
	if err := printReport(c, r, asJSON); err != nil {
		return err
	}
	var off []string
	for _, k := range r.Counts {
		if k.Status == doctor.StatusOff {
			off = append(off, k.Event+" of "+k.Work)
		}
	}
	switch {
	case len(off) > 0:
		return fmt.Errorf("doctor: not counted as expected: %s", strings.Join(off, ", "))
	case len(missing) > 0:
		return fmt.Errorf("doctor: %s: required, but missing here", strings.Join(missing, ", "))
	case r.Source == doctor.SourceNone:
		return fmt.Errorf("doctor: spans can have no counters here")
	}
	return nil
}

// doctorChecks are all that Linux has.
var doctorChecks = []string{
	"hw", "rusage", "rdpmc", "samples",
	"pmu", "perf_event_open", "perf_event_paranoid", "open_files", "locked_memory", "timerfd", "cpu_quota",
}

func printReport(c *command.Call, r doctor.Report, asJSON bool) error {
	if !asJSON {
		return r.WriteTable(c.Stdout, command.WantsColour(c.Stdout, os.Getenv))
	}
	return c.WriteJSON(r)
}
