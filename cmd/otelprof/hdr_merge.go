package main

import (
	"io"

	"github.com/otelprof/otelprof/otelhdr/hdrlog"
)

var hdrMergeCommand = &command{
	name:  "merge",
	args:  "FILE…",
	short: "Add up all histograms of all files into one",
	long: hdrFiles + `
Where the precision differs, the finest is kept.
`,
	run: func(c *call) error {
		m, err := c.mergeFiles(-1)
		if err != nil {
			return err
		}
		return c.output(m.out, m.write)
	},
}

// merged is what a command reads that writes histograms again.
type merged struct {
	files  []histogramFile
	sum    hdrlog.Interval // of all files
	out    string          // file to write
	format format          // to write it in
	scale  float64
}

// mergeFiles parses the flags of such a command and reads and adds up its files, one to most of them.
func (c *call) mergeFiles(most int) (m merged, err error) {
	tag, scale := c.tagFlag(), c.scaleFlag()
	out := c.String("o", "-", "`file` to write, - for standard output; its extension tells the format: hlog, hgrm, base64, csv, json")
	to := c.String("to", "", "`format` to write instead")
	if err := c.parse(1, most); err != nil {
		return merged{}, err
	}
	m.out, m.scale = *out, *scale
	if m.format, err = formatOf(*to, *out); err != nil {
		return merged{}, err
	}
	if m.files, err = c.readHistograms(c.Args(), *tag, *scale); err != nil {
		return merged{}, err
	}
	m.sum, err = mergeInterval(m.files)
	return m, err
}

// write writes the sum.
func (m merged) write(w io.Writer) error { return m.format.write(w, m.sum, m.scale) }
