package main

import "io"

var hdrMergeCommand = &command{
	name:  "merge",
	args:  "FILE…",
	short: "Add up all histograms of all files into one",
	long: hdrFiles + `
Where the precision differs, the finest is kept.
`,
	run: func(c *call) error {
		tag, scale := c.tagFlag(), c.scaleFlag()
		out := c.String("o", "-", "`file` to write, - for standard output; its extension tells the format: hlog, hgrm, base64, csv, json")
		to := c.String("to", "", "`format` to write instead")
		if err := c.parse(1, -1); err != nil {
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
		return c.output(*out, func(w io.Writer) error { return f.write(w, sum, *scale) })
	},
}
