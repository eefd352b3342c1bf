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
		m, err := c.mergeFiles(1)
		if err != nil {
			return err
		}
		return c.output(m.out, func(w io.Writer) error {
			if m.format != formatHlog || len(m.files[0].intervals) == 1 {
				return m.write(w)
			}
			log := hdrlog.NewWriter(w, m.sum.Start)
			for _, i := range m.files[0].intervals {
				if err := log.Write(i); err != nil {
					return err
				}
			}
			return nil
		})
	},
}
