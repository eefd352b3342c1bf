package stacks

import (
	"bufio"
	"io"
	"slices"
	"strconv"
	"strings"
)

// WriteFolded writes a line for each stack: its functions from the outermost on, with semicolons
// between them, and the number of samples. It is what scripts for flame graphs read.
func (t *Tree) WriteFolded(w io.Writer) error {
	out := bufio.NewWriter(w)
	clean := strings.NewReplacer(";", ":", "\n", " ", "\r", " ")
	t.WithoutLines().Leaves(func(stack []Frame, w Weight) {
		if len(stack) == 0 {
			out.WriteString("[unknown]")
		}
		for i, f := range slices.Backward(stack) {
			clean.WriteString(out, f.Func) //nolint:errcheck // It sticks until Flush.
			if i > 0 {
				out.WriteByte(';')
			}
		}
		out.WriteByte(' ')
		out.WriteString(strconv.FormatInt(w.Samples, 10))
		out.WriteByte('\n')
	})
	return out.Flush()
}
