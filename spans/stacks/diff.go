package stacks

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/otelprof/otelprof/internal/naming"
)

// A functionDiff compares one function in two trees. Shares are of all time of their tree, in [0,
// 1].
type functionDiff struct {
	Func string
	// Self is the time in the function itself, Whole that in what it calls too; recursion
	// counts once.
	SelfBefore, SelfAfter, WholeBefore, WholeAfter float64
}

// diff compares two trees by functions: those whose own part changed most come first.
func diff(before, after *Tree) []functionDiff {
	byFunc := map[string]*functionDiff{}
	at := func(name string) *functionDiff {
		d := byFunc[name]
		if d == nil {
			d = &functionDiff{Func: name}
			byFunc[name] = d
		}
		return d
	}
	before.functions(func(name string, self, whole float64) {
		d := at(name)
		d.SelfBefore, d.WholeBefore = self, whole
	})
	after.functions(func(name string, self, whole float64) {
		d := at(name)
		d.SelfAfter, d.WholeAfter = self, whole
	})
	list := make([]functionDiff, 0, len(byFunc))
	for _, d := range byFunc {
		list = append(list, *d)
	}
	slices.SortFunc(list, func(a, b functionDiff) int {
		return cmp.Or(
			cmp.Compare(math.Abs(b.SelfAfter-b.SelfBefore), math.Abs(a.SelfAfter-a.SelfBefore)),
			cmp.Compare(math.Abs(b.WholeAfter-b.WholeBefore), math.Abs(a.WholeAfter-a.WholeBefore)),
			strings.Compare(a.Func, b.Func),
		)
	})
	return list
}

// functions calls f for each function with its shares.
func (t *Tree) functions(f func(name string, self, whole float64)) {
	total := float64(t.Total().Nanos)
	if total == 0 {
		return
	}
	v := &functionVisitor{open: map[string]int{}, self: map[string]int64{}, whole: map[string]int64{}}
	t.Visit(v.enter, v.leave)
	for name, whole := range v.whole {
		f(name, float64(v.self[name])/total, float64(whole)/total)
	}
}

type functionVisitor struct {
	open        map[string]int
	self, whole map[string]int64
}

func (v *functionVisitor) enter(n Node) bool {
	v.self[n.Func] += n.AsLeaf.Nanos
	if v.open[n.Func] == 0 {
		v.whole[n.Func] += n.Whole.Nanos
	}
	v.open[n.Func]++
	return true
}

func (v *functionVisitor) leave(n Node) { v.open[n.Func]-- }

// WriteDiff compares the tree with a later one by functions, as a table: the shares of each before
// and after, those first whose own share changed most. It writes the first most functions, all if
// most is 0.
func (t *Tree) WriteDiff(w io.Writer, after *Tree, most int) error {
	out := bufio.NewWriter(w)
	for _, side := range []struct {
		name string
		tree *Tree
	}{{"before", t}, {"after", after}} {
		total := side.tree.Total()
		fmt.Fprintf(out, "%-7s %s, %v of processor time", side.name, naming.Count(total.Samples, "sample"), roughly(total.Nanos))
		if side.tree.TooFew() {
			fmt.Fprintf(out, ": too few samples, shares mean little below %d", minSamples)
		}
		fmt.Fprintln(out)
	}
	list := diff(t, after)
	rest := 0
	if most > 0 && len(list) > most {
		list, rest = list[:most], len(list)-most
	}
	fmt.Fprint(out, "\nshares in % of all time, changes in points\n")
	fmt.Fprintf(out, "%7s %7s %7s  %7s %7s %7s  %s\n", "self", "after", "change", "whole", "after", "change", "function")
	for _, d := range list {
		fmt.Fprintf(out, "%7.1f %7.1f %+7.1f  %7.1f %7.1f %+7.1f  %s\n",
			100*d.SelfBefore, 100*d.SelfAfter, 100*(d.SelfAfter-d.SelfBefore),
			100*d.WholeBefore, 100*d.WholeAfter, 100*(d.WholeAfter-d.WholeBefore), d.Func)
	}
	if rest > 0 {
		fmt.Fprintf(out, "%s changed less\n", naming.Count(int64(rest), "further function"))
	}
	return out.Flush()
}
