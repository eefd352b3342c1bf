// Package stacks is the command stacks: recordings of call stacks and of goroutines.
package stacks

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/otelprof/otelprof/cmd/otelprof/internal/client"
	"github.com/otelprof/otelprof/cmd/otelprof/internal/command"
	"github.com/otelprof/otelprof/spans/stacks"
)

var Command = &command.Command{
	Name:  "stacks",
	Short: "Record, show and compare merged CPU call stacks",
	Sub:   []*command.Command{stacksRecordCommand, stacksShowCommand, stacksDiffCommand},
}

const stacksFiles = `
A FILE is a recording or any other CPU profile in pprof's format; - is standard input. A URL, or
HOST:PORT, is that of the viewer of a program with OTELPROF_STACKS=on, which has the samples of
the last minutes; or one that ends in /profile, such as /debug/pprof/profile, which takes a
profile while we wait; or in /api/v1/stacks/highrate, where a viewer on Linux takes 1000 samples a
second for up to 20 seconds.
`

var stacksRecordCommand = &command.Command{
	Name:  "record",
	Args:  "[URL]",
	Short: "Save what a running process does as a file that is readable anywhere",
	Long: `
The URL, or HOST:PORT, is that of the viewer of a program with OTELPROF_STACKS=on, which has the
samples of the last -seconds, or one that ends in /profile, such as /debug/pprof/profile, which
takes a profile of the next -seconds. By default it is that in OTELPROF_URL. Of either, only names
of functions, base names of files and lines are kept.
`,
	Run: func(c *command.Call) error {
		out := c.String("o", "stacks.pprof", "`file` to write, - for standard output")
		address := c.String("url", "", "`URL` of the viewer or the profile, in place of the argument")
		high := c.Bool("highrate", false, "take 1000 samples in a second of CPU time, for up to 20 seconds; needs a viewer on Linux")
		seconds := secondsFlag(c)
		if err := c.ParseArgs(0, 1); err != nil {
			return err
		}
		name, err := c.ArgOr(0, "url", *address)
		if err != nil {
			return err
		}
		*address = client.URL(name)
		if !client.IsURL(*address) {
			return command.Usagef("url %q: must be a URL or HOST:PORT", *address)
		}
		if *high {
			*address = strings.TrimSuffix(*address, "/") + "/" + highRatePath
		}
		r, err := readRecording(c, *address, *seconds, "")
		if err != nil {
			return err
		}
		if err := c.OutputTo(*out, r.WritePprof); err != nil {
			return err
		}
		total := r.Process().Total()
		fmt.Fprintf(c.Stderr, "%d samples in %v of %d regions\n", total.Samples, r.Duration.Round(time.Second), regionCount(r))
		return nil
	},
}

var stacksShowCommand = &command.Command{
	Name:  "show",
	Args:  "[FILE|URL]",
	Short: "Print the call-stack tree of a recording, or draw it",
	Long: stacksFiles + `
With -goroutines it prints where all goroutines of this moment are, merged by what they wait
for: the first thing to look at in a program that hangs. The URL is then that of a viewer,
or one that ends in /goroutine, such as /debug/pprof/goroutine, and a FILE is what that
answers with ?debug=2, or the log of a program that has crashed.
`,
	Run: func(c *command.Call) error {
		region := c.String("region", "", "only the regions with this `name`; without it the whole process")
		format := c.String("format", "", "`format`: text, folded, svg, pprof or speedscope; by default that of the file's extension, or text")
		out := c.String("o", "-", "`file` to write, - for standard output")
		lines := c.Bool("lines", false, "keep calls from different lines of a function apart")
		all := c.Bool("goroutines", false, "show all goroutines of this moment instead, by what they wait for; with -o and -least only")
		least := c.Int("least", 1, "leave out what fewer than this `number` of goroutines do; with -goroutines only")
		smallest := c.Float64("min", 0.5, "leave out calls below this part of the time, in `percent`; text only")
		seconds := secondsFlag(c)
		if err := c.ParseArgs(0, 1); err != nil {
			return err
		}
		name := client.URL(c.Arg(0))
		switch {
		case name == "":
			return command.Usagef("0 arguments: must be at least 1: the URL of a viewer, or a file")
		case *least < 1:
			return command.Usagef("least %d: must be at least 1", *least)
		case *all:
			return showGoroutines(c, name, *out, *least)
		}
		if !(*smallest >= 0 && *smallest <= 100) {
			return command.Usagef("min %v: must be in [0, 100]", *smallest)
		}
		kind, err := command.Format(*format, *out, otherFormats, []string{"text", "folded", "svg", "pprof", "speedscope"})
		if err != nil {
			return err
		}
		r, err := readRecording(c, name, *seconds, *region)
		if err != nil {
			return err
		}
		v := stacksView{Recording: r, region: *region, lines: *lines, min: *smallest / 100}
		v.color = *out == "-" && command.WantsColour(c.Stdout, os.Getenv)
		return c.OutputTo(*out, func(w io.Writer) error { return stacksFormats[kind](v, w) })
	},
}

var stacksDiffCommand = &command.Command{
	Name:  "diff",
	Args:  "BEFORE AFTER",
	Short: "Compare two recordings by functions, those that changed most first",
	Long:  stacksFiles,
	Run: func(c *command.Call) error {
		region := c.String("region", "", "only the regions with this `name`; without it the whole process")
		most := c.Int("n", 30, "`number` of functions to print, 0 for all")
		seconds := secondsFlag(c)
		if err := c.ParseArgs(2, 2); err != nil {
			return err
		}
		if *most < 0 {
			return command.Usagef("n %d: must not be negative", *most)
		}
		var trees [2]*stacks.Tree
		for i, name := range client.Names(c.Args()) {
			r, err := readRecording(c, name, *seconds, *region)
			if err != nil {
				return err
			}
			trees[i] = r.Process()
		}
		return trees[0].WriteDiff(c.Stdout, trees[1], *most)
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
	t := v.Process()
	if v.lines {
		return t
	}
	return t.WithoutLines()
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

// otherFormats are what else these renderings are called, as extensions of files.
var otherFormats = map[string]string{"": "text", "txt": "text", "pb": "pprof", "gz": "pprof", "json": "speedscope"}

// writeText adds a list of the regions to the tree of a process.
func (v stacksView) writeText(w io.Writer) error {
	o := stacks.TextOptions{Title: v.title() + v.of() + v.when(), Color: v.color, MinShare: v.min}
	if err := v.tree().WriteText(w, o); err != nil || v.region != "" || regionCount(v.Recording) == 0 {
		return err
	}
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "\nregions, by the time in them and not in regions below:\n")
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
		fmt.Fprintf(out, "%8d samples  %10v  %s%s\n", total.Samples, time.Duration(total.Nanos).Round(10*time.Microsecond), name, few)
	}
	return out.Flush()
}

// of returns of which process the recording is.
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
