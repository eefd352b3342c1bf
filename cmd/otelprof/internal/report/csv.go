package report

import (
	"encoding/csv"
	"io"
	"strconv"

	"github.com/otelprof/otelprof/causal/profile"
)

// csvHeader names the columns. Percentages are of the time that a visit of the progress point
// takes, or of a quantile; lo and hi bound the saving in 95 %.
var csvHeader = []string{"mode", "scope", "region", "progress", "metric", "speedup_percent", "saved_percent", "lo_percent", "hi_percent", "bounded", "verdict", "withheld"}

// writeCSV writes one line for each effect, as spreadsheets and data frames read it. Of what is
// withheld numbers are empty.
func writeCSV(p profile.Profile, w io.Writer) error {
	out := csv.NewWriter(w)
	_ = out.Write(csvHeader) // Flush keeps the error
	percent := func(part float64) string { return strconv.FormatFloat(100*part, 'f', 2, 64) }
	for _, c := range p.Curves {
		for _, e := range c.Effects {
			line := []string{string(c.Mode), c.Region.Scope, c.Region.Name, c.Progress, string(c.Metric), percent(e.Speedup), "", "", "", "", string(e.Verdict), e.Withheld.String()}
			if e.Known() {
				line[6], line[7], line[8], line[9] = percent(e.Reduction), percent(e.Lo), percent(e.Hi), strconv.FormatBool(e.Bounded)
			}
			_ = out.Write(line)
		}
	}
	out.Flush()
	return out.Error()
}
