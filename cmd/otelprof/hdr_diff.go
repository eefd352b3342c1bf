package main

import (
	"fmt"

	"github.com/otelprof/otelprof/otelhdr"
)

var hdrDiffCommand = &command{
	name:  "diff",
	args:  "BEFORE AFTER",
	short: "Compare two files, with changes in percent and the effect size",
	long: hdrFiles + `
The D-value is Cohen's d: the difference of the means in standard deviations. Around 0.2
is a small effect and 0.8 a large one.
`,
	run: func(c *call) error {
		tag, scale := c.tagFlag(), c.scaleFlag()
		if err := c.parse(2, 2); err != nil {
			return err
		}
		files, err := c.readHistograms(c.Args(), *tag, *scale)
		if err != nil {
			return err
		}
		var sides [2]*otelhdr.Summary
		for i, f := range files {
			s, err := merge([]histogramFile{f})
			if err != nil {
				return err
			}
			sides[i] = s.Summary(nil)
		}
		before, after := files[0].title(), files[1].title()
		if before == after { // they are told apart by their folders
			before, after = files[0].name, files[1].name
		}
		fmt.Fprint(c.stdout, otelhdr.Diff{Before: sides[0], After: sides[1]}.Markdown("", before, after))
		return nil
	},
}
