package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/otelprof/otelprof/spans/stacks"
)

var stacksCommand = &command{
	name:  "stacks",
	short: "Record, show and compare merged CPU call stacks",
	sub:   []*command{stacksRecordCommand, stacksShowCommand, stacksDiffCommand},
}

const stacksFiles = `
A FILE is a recording or any other CPU profile in pprof's format; - is standard input. A
URL is that of a viewer, whose process says what it keeps of the last minutes, or one that
ends in /profile, such as /debug/pprof/profile, which takes a profile while we wait, or
in /api/v1/stacks/highrate, where a viewer on Linux takes 1000 samples a second for up to 20 seconds.
`

var stacksRecordCommand = &command{
	name:  "record",
	short: "Save what a running process does as a file that is readable anywhere",
	long: `
The URL is that of a viewer, whose process says what it keeps of the last seconds, or one
that ends in /profile, such as /debug/pprof/profile, which takes a profile of the next
seconds. Only names of functions, base names of files and lines are kept of either.
`,
	run: func(c *call) error {
		out := c.String("o", "stacks.pprof", "`file` to write, - for standard output")
		address := c.String("url", "", "`address` of the viewer or the profile")
		high := c.Bool("highrate", false, "take 1000 samples in a second of CPU time, for up to 20 seconds; needs a viewer on Linux")
		seconds := c.secondsFlag()
		if err := c.parse(0, 0); err != nil {
			return err
		}
		if *address == "" {
			return usagef("-url: must be given")
		}
		if !isURL(*address) {
			return usagef("url %q: must begin with http:// or https://", *address)
		}
		if *high {
			*address = strings.TrimSuffix(*address, "/") + "/" + highRatePath
			*seconds = min(*seconds, 20)
		}
		r, err := c.readRecording(*address, *seconds)
		if err != nil {
			return err
		}
		if err := c.output(*out, r.WritePprof); err != nil {
			return err
		}
		total := r.Process().Total()
		fmt.Fprintf(c.stderr, "%d samples in %v of %d regions\n", total.Samples, r.Duration.Round(time.Second), regionCount(r))
		return nil
	},
}

var stacksShowCommand = &command{
	name:  "show",
	args:  "FILE|URL",
	short: "Print the call-stack tree of a recording, or draw it",
	long: stacksFiles + `
With -goroutines it prints where all goroutines of this moment are, merged by what they wait
for: the first thing to look at in a program that hangs. The URL is then that of a viewer,
or one that ends in /goroutine, such as /debug/pprof/goroutine, and a FILE is what that
answers with ?debug=2, or the log of a program that has crashed.
`,
	run: func(c *call) error {
		region := c.String("region", "", "only the regions with this `name`; without it the whole process")
		format := c.String("format", "", "`format`: text, folded, svg, pprof or speedscope; by default that of the file's extension, or text")
		out := c.String("o", "-", "`file` to write, - for standard output")
		lines := c.Bool("lines", false, "keep calls from different lines of a function apart")
		all := c.Bool("goroutines", false, "show all goroutines of this moment instead, by what they wait for; with -o and -least only")
		least := c.Int("least", 1, "leave out what fewer than this `number` of goroutines do; with -goroutines only")
		smallest := c.Float64("min", 0.5, "leave out calls below this part of the time, in `percent`; text only")
		seconds := c.secondsFlag()
		if err := c.parse(1, 1); err != nil {
			return err
		}
		if *least < 1 {
			return usagef("least %d: must be at least 1", *least)
		}
		if *all {
			return c.showGoroutines(c.Arg(0), *out, *least)
		}
		if !(*smallest >= 0 && *smallest <= 100) {
			return usagef("min %v: must be in [0, 100]", *smallest)
		}
		write, err := stacksFormat(*format, *out)
		if err != nil {
			return err
		}
		r, err := c.readRecording(c.Arg(0), *seconds)
		if err == nil {
			r, err = onlyRegion(r, *region)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", c.Arg(0), err)
		}
		v := stacksView{Recording: r, region: *region, lines: *lines, min: *smallest / 100}
		v.color = *out == "-" && wantsColour(c.stdout, os.Getenv)
		return c.output(*out, func(w io.Writer) error { return write(v, w) })
	},
}

var stacksDiffCommand = &command{
	name:  "diff",
	args:  "BEFORE AFTER",
	short: "Compare two recordings by functions, those that changed most first",
	long:  stacksFiles,
	run: func(c *call) error {
		region := c.String("region", "", "only the regions with this `name`; without it the whole process")
		most := c.Int("n", 30, "`number` of functions to print, 0 for all")
		seconds := c.secondsFlag()
		if err := c.parse(2, 2); err != nil {
			return err
		}
		if *most < 0 {
			return usagef("n %d: must not be negative", *most)
		}
		var trees [2]*stacks.Tree
		for i, name := range c.Args() {
			r, err := c.readRecording(name, *seconds)
			if err == nil {
				r, err = onlyRegion(r, *region)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			trees[i] = r.Process()
		}
		return trees[0].WriteDiff(c.stdout, trees[1], *most)
	},
}

// stacksView is what is shown of a recording.
type stacksView struct {
	*stacks.Recording
	region       string
	lines, color bool
	min          float64
}

func (v stacksView) tree() *stacks.Tree {
	if t := v.Process(); v.lines {
		return t
	}
	return v.Process().WithoutLines()
}

func (v stacksView) title() string {
	if v.region == "" {
		return "process"
	}
	return fmt.Sprintf("region %q", v.region)
}

// stacksFormats are the renderings, by name.
var stacksFormats = map[string]func(stacksView, io.Writer) error{
	"text":       stacksView.writeText,
	"folded":     func(v stacksView, w io.Writer) error { return v.Process().WriteFolded(w) },
	"svg":        func(v stacksView, w io.Writer) error { return v.tree().WriteSVG(w, v.title()) },
	"pprof":      func(v stacksView, w io.Writer) error { return v.WritePprof(w) },
	"speedscope": func(v stacksView, w io.Writer) error { return v.Process().WriteSpeedscope(w, v.title()) },
}

// stacksFormat returns the rendering that is asked for by name or, without one, by the extension
// of a file.
func stacksFormat(name, file string) (func(stacksView, io.Writer) error, error) {
	if name == "" {
		name = strings.TrimPrefix(strings.ToLower(filepath.Ext(file)), ".")
	}
	switch name {
	case "", "txt":
		name = "text"
	case "pb", "gz":
		name = "pprof"
	case "json":
		name = "speedscope"
	}
	if write := stacksFormats[name]; write != nil {
		return write, nil
	}
	return nil, usagef("format %q: must be one of %v", name, []string{"text", "folded", "svg", "pprof", "speedscope"})
}

// writeText adds a list of the regions to the tree of a process.
func (v stacksView) writeText(w io.Writer) error {
	o := stacks.TextOptions{Title: v.title() + v.of() + v.when(), Color: v.color, MinShare: v.min}
	if err := v.tree().WriteText(w, o); err != nil || v.region != "" || regionCount(v.Recording) == 0 {
		return err
	}
	fmt.Fprintf(w, "\nregions, by the time in them and not in regions below:\n")
	for _, r := range v.Regions {
		name := r.Name
		if r.Number == 0 {
			name = "outside of all regions"
		}
		total, few := r.Tree.Total(), ""
		if r.Tree.TooFew() {
			few = "  too few samples"
		}
		if r.Scope.Name != "" {
			few = "  " + r.Scope.Name + few
		}
		fmt.Fprintf(w, "%8d samples  %10v  %s%s\n", total.Samples, time.Duration(total.Nanos).Round(10*time.Microsecond), name, few)
	}
	return nil
}

// of says of which process the recording is.
func (v stacksView) of() string {
	if of := v.Origin.String(); of != "" {
		return " of " + of
	}
	return ""
}

func (v stacksView) when() string {
	if v.Duration <= 0 {
		return ""
	}
	s := fmt.Sprintf(", %v at %d Hz", v.Duration.Round(10*time.Millisecond), v.Hz)
	if v.Lost > 0 {
		s += fmt.Sprintf(", %d samples lost", v.Lost)
	}
	return s
}

// onlyRegion leaves the regions of a name, all if it is empty.
func onlyRegion(r *stacks.Recording, name string) (*stacks.Recording, error) {
	if name == "" {
		return r, nil
	}
	found := r.Find(name)
	if len(found) == 0 {
		var have []string
		for _, region := range r.Regions {
			if region.Number != 0 && !slices.Contains(have, region.Name) {
				have = append(have, region.Name)
			}
		}
		return nil, fmt.Errorf("region %q: must be one of %q", name, have)
	}
	out := *r
	out.Regions = found
	return &out, nil
}

func regionCount(r *stacks.Recording) (n int) {
	for _, region := range r.Regions {
		if region.Number != 0 {
			n++
		}
	}
	return n
}
