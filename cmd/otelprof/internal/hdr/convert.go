package hdr

import (
	"io"

	"github.com/otelprof/otelprof/cmd/otelprof/internal/command"
	"github.com/otelprof/otelprof/otelhdr/hdrlog"
)

var hdrConvertCommand = &command.Command{
	Name:  "convert",
	Args:  "FILE",
	Short: "Write a file in another format",
	Long: hdrFiles + `
A log that becomes a log keeps its intervals and is brought to the present version. In
all other formats there is one histogram, the sum of the intervals.
`,
	Run: func(c *command.Call) error {
		m, err := mergeFiles(c, 1, true)
		if err != nil {
			return err
		}
		return c.OutputTo(m.out, func(w io.Writer) error {
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
