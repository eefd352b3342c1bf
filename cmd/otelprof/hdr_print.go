package main

import (
	"fmt"

	"github.com/otelprof/otelprof/otelhdr"
)

var hdrPrintCommand = &command{
	name:  "print",
	args:  "FILE…",
	short: "Print the percentiles of each file as a table",
	long:  hdrFiles,
	run: func(c *call) error {
		tag, scale := c.tagFlag(), c.scaleFlag()
		lines := c.Bool("lines", false, "print a line for each interval instead")
		if err := c.parse(1, -1); err != nil {
			return err
		}
		files, err := c.readHistograms(c.Args(), *tag, *scale)
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
				fmt.Fprintln(c.stdout)
			}
			fmt.Fprint(c.stdout, s.Summary(nil).Markdown(f.title()))
		}
		return nil
	},
}

// printLines writes when each interval started, and its summary in one line.
func printLines(c *call, f histogramFile) {
	var m otelhdr.Summary
	for _, i := range f.intervals {
		name := f.title()
		if i.Tag != "" {
			name += " " + i.Tag
		}
		line := i.Start.AppendFormat(nil, "15:04:05.000 | ")
		fmt.Fprintf(c.stdout, "%s\n", i.Snapshot.Summary(&m).AppendLine(line, name))
	}
}
