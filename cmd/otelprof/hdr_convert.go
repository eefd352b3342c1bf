package main

import (
	"io"

	"github.com/otelprof/otelprof/otelhdr/hdrlog"
)

var hdrConvertCommand = &command{
	name:  "convert",
	args:  "FILE",
	short: "Write a file in another format",
	long: hdrFiles + `
A log that becomes a log keeps its intervals and is brought to the present version. In
all other formats there is one histogram, the sum of the intervals.
`,
	run: func(c *call) error {
		tag, scale := c.tagFlag(), c.scaleFlag()
		out := c.String("o", "-", "`file` to write, - for standard output; its extension tells the format: hlog, hgrm, base64, csv, json")
		to := c.String("to", "", "`format` to write instead")
		if err := c.parse(1, 1); err != nil {
			return err
		}
		f, err := formatOf(*to, *out)
		if err != nil {
			return err
		}
		files, err := c.readHistograms(c.Args(), *tag, *scale)
		if err != nil {
			return err
		}
		sum, err := mergeInterval(files)
		if err != nil {
			return err
		}
		return c.output(*out, func(w io.Writer) error {
			if f != formatHlog || len(files[0].intervals) == 1 {
				return f.write(w, sum, *scale)
			}
			log := hdrlog.NewWriter(w, sum.Start)
			for _, i := range files[0].intervals {
				if err := log.Write(i); err != nil {
					return err
				}
			}
			return nil
		})
	},
}
