package hdr

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/otelprof/otelprof/cmd/otelprof/internal/command"
	"github.com/otelprof/otelprof/otelhdr"
)

var hdrPrintCommand = &command.Command{
	Name:  "print",
	Args:  "FILE…",
	Short: "Print the percentiles of each file as a table",
	Long:  hdrFiles,
	Run: func(c *command.Call) error {
		tag, scale := tagFlag(c), scaleFlag(c)
		lines := c.Bool("lines", false, "print a line for each interval instead")
		if err := c.ParseArgs(1, -1); err != nil {
			return err
		}
		files, err := readHistograms(c, c.Args(), *tag, *scale, *lines)
		if err != nil {
			return err
		}
		out := bufio.NewWriter(c.Stdout)
		for i, f := range files {
			if *lines {
				printLines(out, f)
				continue
			}
			s, err := merge([]histogramFile{f})
			if err != nil {
				return errors.Join(err, out.Flush())
			}
			if i > 0 {
				fmt.Fprintln(out)
			}
			fmt.Fprint(out, s.Summary(nil).Markdown(f.title()))
		}
		return out.Flush()
	},
}

// printLines writes when each interval started, and its summary in one line.
func printLines(out io.Writer, f histogramFile) {
	var m otelhdr.Summary
	for _, i := range f.intervals {
		name := f.title()
		if i.Tag != "" {
			name += " " + i.Tag
		}
		line := i.Start.AppendFormat(nil, "15:04:05.000 | ")
		fmt.Fprintf(out, "%s\n", i.Snapshot.Summary(&m).AppendLine(line, name))
	}
}
