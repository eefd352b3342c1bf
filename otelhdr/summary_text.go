package otelhdr

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
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

// appendGrouped appends v with a comma between groups of three digits.
func appendGrouped(dst []byte, v uint64) []byte {
	var digits [20]byte
	return appendCommas(dst, strconv.AppendUint(digits[:0], v, 10))
}

// appendCommas appends digits with a comma between groups of three.
func appendCommas(dst, digits []byte) []byte {
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, d)
	}
	return dst
}

// appendGroupedFloat appends f, which is finite and not negative, with decimals, and its integer
// part grouped.
func appendGroupedFloat(dst []byte, f float64, decimals int) []byte {
	var buf [64]byte
	text := strconv.AppendFloat(buf[:0], f, 'f', decimals, 64)
	whole := len(text)
	if decimals > 0 {
		whole -= decimals + 1
	}
	dst = appendCommas(dst, text[:whole])
	return append(dst, text[whole:]...)
}

// appendPercent appends p with at most four decimals, or as many more as show that it is less than
// 100.
func appendPercent(dst []byte, p float64) []byte {
	rounded := math.Round(p*1e4) / 1e4
	if rounded >= 100 && p < 100 {
		return strconv.AppendFloat(dst, p, 'f', -1, 64)
	}
	return strconv.AppendFloat(dst, rounded, 'f', -1, 64)
}

// String returns the bounds and the count, as [24,832, 25,088) 14,190. The upper bound is the first
// value after the bucket.
func (b Bucket) String() string { return string(b.append(make([]byte, 0, 64))) }

func (b Bucket) append(dst []byte) []byte {
	dst = append(dst, '[')
	dst = appendGrouped(dst, b.Low)
	dst = append(dst, ", "...)
	if b.High == math.MaxUint64 {
		dst = append(dst, "18,446,744,073,709,551,616"...) // 2^64, which has no uint64
	} else {
		dst = appendGrouped(dst, b.High+1)
	}
	dst = append(dst, ") "...)
	return appendGrouped(dst, b.Count)
}

// String returns the percentile, its value, the slot and the index of the bucket, and the bucket:
// P99=24,960 [83 / 609]: [24,832, 25,088) 14,190.
func (p Percentile) String() string {
	dst := append(make([]byte, 0, 96), 'P')
	dst = appendPercent(dst, p.Percent)
	dst = append(dst, '=')
	dst = appendGrouped(dst, p.Value)
	dst = append(dst, " ["...)
	dst = strconv.AppendInt(dst, int64(p.Slot), 10)
	dst = append(dst, " / "...)
	dst = strconv.AppendInt(dst, int64(p.Index), 10)
	dst = append(dst, "]: "...)
	return string(p.Bucket.append(dst))
}

// A table is written as Markdown, with its columns aligned so that it reads as well as plain text.
type table struct {
	right []bool // columns aligned to the right
	rows  [][]string
}

// add appends a row; cells that are missing are empty.
func (t *table) add(cells ...string) {
	row := make([]string, len(t.right))
	copy(row, cells)
	t.rows = append(t.rows, row)
}

// append writes the table to dst. The first row is the header.
func (t *table) append(dst []byte) []byte {
	widths := make([]int, len(t.right))
	for _, row := range t.rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell), 3)
		}
	}
	for r, row := range t.rows {
		for i, cell := range row {
			dst = append(dst, "| "...)
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if t.right[i] {
				dst = append(dst, pad...)
			}
			dst = append(dst, cell...)
			if !t.right[i] {
				dst = append(dst, pad...)
			}
			dst = append(dst, ' ')
		}
		dst = append(dst, "|\n"...)
		if r == 0 {
			dst = t.appendRule(dst, widths)
		}
	}
	return dst
}

// appendRule writes the line below the header, which gives how the columns are aligned.
func (t *table) appendRule(dst []byte, widths []int) []byte {
	for i, w := range widths {
		dashes := strings.Repeat("-", w-1)
		if t.right[i] {
			dst = append(dst, "| "+dashes+": "...)
		} else {
			dst = append(dst, "| :"+dashes+" "...)
		}
	}
	return append(dst, "|\n"...)
}

// appendTitle writes a heading, or nothing if title is empty.
func appendTitle(dst []byte, title string) []byte {
	if title == "" {
		return dst
	}
	dst = append(dst, "##### "...)
	dst = append(dst, title...)
	return append(dst, '\n')
}
