package otelhdr

import (
	"math"
	"strconv"
)

// lineRanks are the percentiles of the one-line form and what they are called there.
var lineRanks = [...]struct {
	percent float64
	name    string
}{{0, "P0"}, {25, "P25"}, {50, "P50"}, {90, "P90"}, {95, "P95"}, {99, "P99"}, {99.9, "P999"}, {100, "P100"}}

// String returns the summary in one line: Total=1,000, Overflow=0, Mean=499.5, P0=0, P25=249, …
// P100=999. Underflow is there where it is not 0.
func (m *Summary) String() string { return string(m.AppendLine(nil, "")) }

// AppendLine appends what String returns to dst, after name and a colon unless name is empty. It
// allocates nothing where dst has room for some 200 bytes.
func (m *Summary) AppendLine(dst []byte, name string) []byte {
	if name != "" {
		dst = append(dst, name...)
		dst = append(dst, ": "...)
	}
	dst = append(dst, "Total="...)
	dst = appendGrouped(dst, m.Count)
	if m.Underflow != 0 {
		dst = append(dst, ", Underflow="...)
		dst = appendGrouped(dst, m.Underflow)
	}
	dst = append(dst, ", Overflow="...)
	dst = appendGrouped(dst, m.Overflow)
	dst = append(dst, ", Mean="...)
	dst = appendGroupedFloat(dst, m.Mean, 1)
	for _, r := range lineRanks {
		p, _ := m.Percentile(r.percent)
		dst = append(dst, ", "...)
		dst = append(dst, r.name...)
		dst = append(dst, '=')
		dst = appendGrouped(dst, p.Value)
	}
	return dst
}

// Markdown returns [Summary.AppendMarkdown] as a string.
func (m *Summary) Markdown(title string) string { return string(m.AppendMarkdown(nil, title)) }

// AppendMarkdown appends a table to dst, under a heading unless title is empty: for every
// percentile its value, how far the value may be off, and how many values it is the greatest of;
// below these the number of values out of range if there are any, mean, standard deviation, the
// bound of the relative error, the number of values, and the range if it is not all of uint64. The
// table is valid Markdown and aligned as plain text.
func (m *Summary) AppendMarkdown(dst []byte, title string) []byte {
	t := table{right: []bool{false, true, false, true}}
	t.add("Percentile", "Value", "±", "Count")
	for i, p := range m.Percentiles {
		t.add(rankText(i), groupedText(p.Value), "±"+groupedText(p.Error), groupedText(p.Rank))
	}
	if m.Underflow != 0 {
		t.add("Underflow", "", "", groupedText(m.Underflow))
	}
	if m.Overflow != 0 {
		t.add("Overflow", "", "", groupedText(m.Overflow))
	}
	t.add()
	t.add("Mean:", floatText(m.Mean), "StDev:", floatText(m.StdDev))
	t.add("Precision:", precisionText(m.RelativeError), "Total:", groupedText(m.Count))
	if m.RangeMin != 0 || m.RangeMax != math.MaxUint64 {
		t.add("Range Min:", groupedText(m.RangeMin), "Max:", groupedText(m.RangeMax))
	}
	return t.append(appendTitle(dst, title))
}

func groupedText(v uint64) string { return string(appendGrouped(nil, v)) }

func floatText(f float64) string { return string(appendGroupedFloat(nil, f, 2)) }

// rankText writes the percentile at place i of a summary.
func rankText(i int) string { return percentText(float64(summaryRanks[i]) / 1000) }

func percentText(p float64) string { return string(appendPercent(nil, p)) }

// precisionText writes a fraction as a percentage with four decimals. The errors of layouts are
// ties, which go up.
func precisionText(e float64) string {
	return strconv.FormatFloat(math.Round(1e6*e)/1e4, 'f', 4, 64) + "%"
}
