package stacks

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/otelprof/otelprof/internal/naming"
)

// TextOptions set how [Tree.WriteText] writes. The zero value writes everything, without colors.
type TextOptions struct {
	// Title is the first line; none if it is empty.
	Title string
	// Color marks what is heavy, for terminals.
	Color bool
	// MinShare leaves out calls below this part of all time, in [0, 1], and counts them.
	MinShare float64
}

// WriteText writes the tree for people: for each call the part of the time that it and what it
// calls took, the part that it took itself, and its place. A call that is the only one of its
// caller stands right below it, so that only branches move to the right.
func (t *Tree) WriteText(w io.Writer, o TextOptions) error {
	out := bufio.NewWriter(w)
	if o.Title != "" {
		fmt.Fprintln(out, o.Title)
	}
	total := t.Total()
	fmt.Fprintf(out, "%s, %v of processor time, %s\n", naming.Count(total.Samples, "sample"), roughly(total.Nanos), naming.Count(int64(t.Len()), "node"))
	if t.TooFew() {
		fmt.Fprintf(out, "too few samples: %d, shares mean little below %d\n", total.Samples, minSamples)
	}
	if n := t.folded.Samples; n > 0 {
		fmt.Fprintf(out, "%s cut short: the tree was full\n", naming.Count(n, "stack"))
	}
	if total.Nanos > 0 {
		fmt.Fprint(out, "\n  whole   self\n")
		v := &textVisitor{out: out, o: o, total: total.Nanos, alone: []bool{t.nodes[0].children == 1}}
		t.Visit(v.enter, v.leave)
	}
	return out.Flush()
}

// textVisitor draws the lines of a tree.
type textVisitor struct {
	out   *bufio.Writer
	o     TextOptions
	total int64
	bars  []string // what each open node puts before its children
	alone []bool   // whether the root and each open node has one child
	small Weight   // siblings that are left out
	n     int
}

func (v *textVisitor) share(nanos int64) float64 { return float64(nanos) / float64(v.total) }

func (v *textVisitor) enter(n Node) bool {
	shown := v.share(n.Whole.Nanos) >= v.o.MinShare
	switch {
	case !shown:
		v.n++
		v.small.add(n.Whole)
		if n.Last {
			v.rest(n.Depth)
		}
		return v.skip()
	case v.straight(n.Depth):
		v.line(n, "")
		v.push(n, "")
	case n.Last:
		v.line(n, "└ ")
		v.push(n, "  ")
	default:
		v.line(n, "├ ")
		v.push(n, "│ ")
	}
	return true
}

// skip opens a node without children, for leave.
func (v *textVisitor) skip() bool {
	v.bars, v.alone = append(v.bars, ""), append(v.alone, true)
	return false
}

func (v *textVisitor) push(n Node, bar string) {
	v.bars, v.alone = append(v.bars, bar), append(v.alone, n.Children == 1)
}

// straight reports whether a node stands right below its parent.
func (v *textVisitor) straight(depth int) bool { return v.alone[depth] }

func (v *textVisitor) leave(Node) {
	v.bars, v.alone = v.bars[:len(v.bars)-1], v.alone[:len(v.alone)-1]
}

func (v *textVisitor) line(n Node, branch string) {
	place := ""
	if n.File != "" {
		place = "  " + n.File
		if n.Line > 0 {
			place += ":" + strconv.Itoa(n.Line)
		}
	}
	whole, self := v.share(n.Whole.Nanos), v.share(n.AsLeaf.Nanos)
	fmt.Fprintf(v.out, "%s %s  %s%s%s\n", v.paint(whole, percent(whole)), v.paint(self, percent(self)),
		v.dim(strings.Join(v.bars, "")+branch), v.paint(max(self, whole/4), n.Func), v.dim(place))
}

// rest writes what was left out below a node.
func (v *textVisitor) rest(depth int) {
	branch := "└ "
	if v.straight(depth) {
		branch = ""
	}
	fmt.Fprintln(v.out, v.dim(fmt.Sprintf("%s %s  %s%s… %s below %s", percent(v.share(v.small.Nanos)), percent(-1),
		strings.Join(v.bars, ""), branch, naming.Count(int64(v.n), "call"), strings.TrimSpace(percent(v.o.MinShare)))))
	v.n, v.small = 0, Weight{}
}

// Colors by weight: half of the time is red, a tenth yellow, a fiftieth plain.
const (
	red    = "\x1b[1;31m"
	yellow = "\x1b[33m"
	gray   = "\x1b[90m"
	reset  = "\x1b[0m"
)

func (v *textVisitor) paint(share float64, text string) string {
	switch {
	case !v.o.Color || text == "":
		return text
	case share >= 0.5:
		return red + text + reset
	case share >= 0.1:
		return yellow + text + reset
	case share >= 0.02:
		return text
	}
	return gray + text + reset
}

func (v *textVisitor) dim(text string) string { return v.paint(0, text) }

// percent writes a part of one in seven characters, and nothing for a negative one.
func percent(share float64) string {
	if share < 0 {
		return strings.Repeat(" ", 7)
	}
	return fmt.Sprintf("%5.1f %%", 100*share)
}

// roughly writes nanoseconds with three digits or so.
func roughly(nanos int64) time.Duration {
	d := time.Duration(nanos)
	for unit := 1000 * time.Second; unit >= time.Microsecond; unit /= 10 {
		if d >= unit {
			return d.Round(unit / 100)
		}
	}
	return d
}
