package top

import (
	"encoding/csv"
	"io"
	"strconv"
)

var csvHeader = []string{"scope", "scope_version", "region", "rate", "count", "errors", "p50_ns", "p90_ns", "p99_ns", "max_ns", "self_ns", "self_percent", "ipc", "effect"}

// writeCSV writes the rows of one table. What is not known is empty.
func (t topTable) writeCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	_ = out.Write(csvHeader) // Flush keeps the error
	float := func(x float64) string { return strconv.FormatFloat(x, 'g', 6, 64) }
	count := func(n uint64) string { return strconv.FormatUint(n, 10) }
	for _, r := range t.sorted() {
		rate, ipc := "", ""
		if r.rate >= 0 {
			rate = float(r.rate)
		}
		if r.Pmu.IPC != nil {
			ipc = float(*r.Pmu.IPC)
		}
		_ = out.Write([]string{
			r.Scope, r.ScopeVersion, r.Name, rate, count(r.Count), count(r.Errors),
			count(r.P50), count(r.P90), count(r.P99), count(r.Max), strconv.FormatInt(r.Self, 10), float(100 * r.window), ipc, r.effectText(),
		})
	}
	out.Flush()
	return out.Error()
}
