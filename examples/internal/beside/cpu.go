package beside

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"runtime"
	runtimepprof "runtime/pprof"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/google/pprof/profile"
)

// A CPU is a CPU profile by the functions of the program's own package.
type CPU struct {
	Total time.Duration // processor time
	Part  []Function    // the largest first
}

// A Function is one of the program's, with the part of the processor time, in [0, 1], in which it
// was on the stack.
type Function struct {
	Name  string
	Share float64
}

// Share returns the part of a function, 0 if the profile has not seen it.
func (c CPU) Share(name string) float64 {
	if i := slices.IndexFunc(c.Part, func(f Function) bool { return f.Name == name }); i >= 0 {
		return c.Part[i].Share
	}
	return 0
}

// profileCPU runs f and returns where the processor time went.
func profileCPU(p Program, f func() error) (CPU, error) {
	var data bytes.Buffer
	if err := runtimepprof.StartCPUProfile(&data); err != nil {
		return CPU{}, err
	}
	err := f()
	runtimepprof.StopCPUProfile()
	if err != nil {
		return CPU{}, err
	}
	parsed, err := profile.Parse(&data)
	if err != nil {
		return CPU{}, fmt.Errorf("CPU profile: %w", err)
	}
	return byFunction(parsed, packageOf(p.Run))
}

// packageOf returns the path of the package that a function is in, with the dot behind it.
func packageOf(f any) string {
	name := runtime.FuncForPC(reflect.ValueOf(f).Pointer()).Name()
	slash := strings.LastIndex(name, "/") + 1
	return name[:slash+strings.Index(name[slash:], ".")+1]
}

var errEmpty = errors.New("CPU profile: no samples")

// byFunction adds samples up for each function of a package that has a name.
func byFunction(p *profile.Profile, pkg string) (CPU, error) {
	self := map[string]int64{}
	total := int64(0)
	for _, s := range p.Sample {
		if slices.ContainsFunc(s.Location, inserts) {
			continue
		}
		ns := s.Value[len(s.Value)-1]
		total += ns
		seen := map[string]bool{}
		for _, at := range s.Location {
			for _, line := range at.Line {
				name, ours := strings.CutPrefix(line.Function.Name, pkg)
				if ours && !strings.Contains(name, ".func") && !seen[name] {
					seen[name] = true
					self[name] += ns
				}
			}
		}
	}
	if total == 0 {
		return CPU{}, errEmpty
	}
	c := CPU{Total: time.Duration(total)}
	for _, name := range slices.Sorted(maps.Keys(self)) {
		c.Part = append(c.Part, Function{name, float64(self[name]) / float64(total)})
	}
	slices.SortStableFunc(c.Part, func(a, b Function) int { return cmp.Compare(b.Share, a.Share) })
	return c, nil
}

// mostFunctions is how many are shown, besides the one that matters.
const mostFunctions = 6

func (c CPU) write(w io.Writer, p Program) {
	fmt.Fprintf(w, "\nCPU profile: %v of processor time, by function\n", c.Total.Round(10*time.Millisecond))
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', tabwriter.AlignRight)
	shown := c.Part[:min(len(c.Part), mostFunctions)]
	if !slices.ContainsFunc(shown, func(f Function) bool { return f.Name == p.Function }) {
		shown = append(slices.Clone(shown), Function{p.Function, c.Share(p.Function)})
	}
	for _, f := range shown {
		mark := ""
		if f.Name == p.Function {
			mark = "  <- in which " + p.Region + " is"
		}
		fmt.Fprintf(t, "  %.1f %%\t  %s%s\n", 100*f.Share, f.Name, mark)
	}
	_ = t.Flush() // what cannot be printed here cannot be elsewhere
}

// inserts reports whether the scheduler delays the goroutine there, in an experiment: that is no
// work of the program's.
func inserts(at *profile.Location) bool {
	return slices.ContainsFunc(at.Line, func(l profile.Line) bool { return l.Function.Name == "runtime.(*otelprofG).pay" })
}
