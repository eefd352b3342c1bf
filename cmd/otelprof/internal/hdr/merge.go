package hdr

import (
	"io"

	"github.com/otelprof/otelprof/cmd/otelprof/internal/command"
	"github.com/otelprof/otelprof/otelhdr/hdrlog"
)

var hdrMergeCommand = &command.Command{
	Name:  "merge",
	Args:  "FILE…",
	Short: "Add up all histograms of all files into one",
	Long: hdrFiles + `
Where the precision differs, the finest is kept.
`,
	Run: func(c *command.Call) error {
		m, err := mergeFiles(c, -1, false)
		if err != nil {
			return err
		}
		return c.OutputTo(m.out, m.write)
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

// mergeFiles parses the flags of such a command and reads and adds up its files, one to most of
// them. With each a log becomes a log interval by interval.
func mergeFiles(c *command.Call, most int, each bool) (m merged, err error) {
	tag, scale := tagFlag(c), scaleFlag(c)
	out := c.String("o", "-", "`file` to write, - for standard output; its extension is the format: hlog, hgrm, base64, csv, json")
	to := c.String("to", "", "`format` to write instead")
	if err := c.ParseArgs(1, most); err != nil {
		return merged{}, err
	}
	m.out, m.scale = *out, *scale
	if m.format, err = command.Format(*to, *out, map[string]format{"": formatHlog}, formats); err != nil {
		return merged{}, err
	}
	if m.files, err = readHistograms(c, c.Args(), *tag, *scale, each && m.format == formatHlog); err != nil {
		return merged{}, err
	}
	m.sum, err = mergeInterval(m.files)
	return m, err
}

// write writes the sum.
func (m merged) write(w io.Writer) error { return m.format.write(w, m.sum, m.scale) }
