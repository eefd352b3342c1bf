package goroutines

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/otelprof/otelprof/internal/naming"
	"github.com/otelprof/otelprof/spans/stacks"
)

// WriteText writes the trees for people: the number of goroutines before each reason and each call,
// outermost calls first. Only branches move to the right. Calls of fewer than least goroutines are
// left out; 0 and 1 leave out none.
func (d *Dump) WriteText(w io.Writer, least int) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "%s\n", naming.Count(d.Count, "goroutine"))
	for _, g := range d.Groups {
		if g.Count < least {
			continue
		}
		fmt.Fprintf(out, "\n%8d  [%s]%s\n", g.Count, g.Reason, longest(g.Longest))
		v := &textVisitor{out: out, least: int64(least), indents: []string{"  "}}
		g.Tree.Visit(v.enter, v.leave)
	}
	return out.Flush()
}

func longest(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return fmt.Sprintf(", one for %s", naming.Count(int(d/time.Minute), "minute"))
}

// textVisitor writes the calls of a tree.
type textVisitor struct {
	out     *bufio.Writer
	least   int64
	indents []string // of the root's children, and of those of each open node
}

func (v *textVisitor) enter(n stacks.Node) bool {
	indent := v.indents[len(v.indents)-1]
	shown := n.Whole.Samples >= v.least
	if shown {
		place := ""
		if n.File != "" {
			place = "  " + n.File
			if n.Line > 0 {
				place += ":" + strconv.Itoa(n.Line)
			}
		}
		fmt.Fprintf(v.out, "%8d  %s%s%s\n", n.Whole.Samples, indent, n.Func, place)
	}
	below := indent
	if n.Children > 1 || n.AsLeaf.Samples > 0 && n.Children > 0 {
		below += strings.Repeat(" ", 2)
	}
	v.indents = append(v.indents, below)
	return shown
}

func (v *textVisitor) leave(stacks.Node) { v.indents = v.indents[:len(v.indents)-1] }
