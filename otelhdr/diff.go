package otelhdr

import (
	"math"
	"strconv"
)

// A Diff sets two summaries side by side.
type Diff struct{ Before, After *Summary }

// D returns the difference of the means in units of the pooled standard deviation, Cohen's d: the
// size of the effect whatever the unit. Around 0.2 is small and 0.8 large; negative means that
// After is lower. It is infinite where both sides do not scatter but differ, and NaN where there
// are too few values, fewer than 3 altogether or none on one side.
//
// See J. Cohen, Statistical Power Analysis for the Behavioral Sciences, 2nd ed., 2.5.1.
func (d Diff) D() float64 {
	a, b := d.Before, d.After
	n, m := float64(a.Count), float64(b.Count)
	if a.Count == 0 || b.Count == 0 || n+m < 3 {
		return math.NaN()
	}
	difference := b.Mean - a.Mean
	if difference == 0 {
		return 0
	}
	// The deviations are those of whole populations, so n times the square is the sum of squares.
	return difference / math.Sqrt((n*a.StdDev*a.StdDev+m*b.StdDev*b.StdDev)/(n+m-2))
}

// Markdown returns [Diff.AppendMarkdown] as a string.
func (d Diff) Markdown(title, before, after string) string {
	return string(d.AppendMarkdown(nil, title, before, after))
}

// AppendMarkdown appends a table to dst, under a heading unless title is empty: every percentile,
// mean, standard deviation, precision and total of both sides, whose columns are headed before and
// after, with the change in percent, and below these D. A change from zero is n/a.
func (d Diff) AppendMarkdown(dst []byte, title, before, after string) []byte {
	a, b := d.Before, d.After
	t := table{right: []bool{false, true, true, true}}
	t.add("Percentile", before, after, "Δ%")
	counts := func(name string, x, y uint64) {
		t.add(name, groupedText(x), groupedText(y), changeText(float64(x), float64(y)))
	}
	floats := func(name string, x, y float64) { t.add(name, floatText(x), floatText(y), changeText(x, y)) }
	for i, p := range a.Percentiles {
		counts(rankText(i), p.Value, b.Percentiles[i].Value)
	}
	if a.Underflow != 0 || b.Underflow != 0 {
		counts("Underflow", a.Underflow, b.Underflow)
	}
	if a.Overflow != 0 || b.Overflow != 0 {
		counts("Overflow", a.Overflow, b.Overflow)
	}
	t.add()
	floats("Mean:", a.Mean, b.Mean)
	floats("StDev:", a.StdDev, b.StdDev)
	t.add("Precision:", precisionText(a.RelativeError), precisionText(b.RelativeError), changeText(a.RelativeError, b.RelativeError))
	counts("Total:", a.Count, b.Count)
	t.add("D-value:", "", "", effectText(d.D()))
	return t.append(appendTitle(dst, title))
}

// changeText writes the change from x to y, as +1.5%.
func changeText(x, y float64) string {
	if x == y {
		return "0.0%"
	}
	if x == 0 {
		return "n/a"
	}
	text := strconv.FormatFloat(100*(y-x)/x, 'f', 1, 64) + "%"
	switch {
	case text == "0.0%" || text == "-0.0%":
		return "0.0%"
	case y > x:
		return "+" + text
	default:
		return text
	}
}

func effectText(d float64) string {
	if math.IsNaN(d) {
		return "n/a"
	}
	return strconv.FormatFloat(d, 'f', 2, 64)
}
