package hdr

import (
	"fmt"

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
		for i, f := range files {
			if *lines {
				printLines(c, f)
				continue
			}
			s, err := merge([]histogramFile{f})
			if err != nil {
				return err
			}
			if i > 0 {
				fmt.Fprintln(c.Stdout)
			}
			fmt.Fprint(c.Stdout, s.Summary(nil).Markdown(f.title()))
		}
		return nil
	},
}

// printLines writes when each interval started, and its summary in one line.
func printLines(c *command.Call, f histogramFile) {
	var m otelhdr.Summary
	for _, i := range f.intervals {
		name := f.title()
		if i.Tag != "" {
			name += " " + i.Tag
		}
		line := i.Start.AppendFormat(nil, "15:04:05.000 | ")
		fmt.Fprintf(c.Stdout, "%s\n", i.Snapshot.Summary(&m).AppendLine(line, name))
	}
}
