package hdr

import (
	"fmt"
	"slices"

	"github.com/otelprof/otelprof/cmd/otelprof/internal/command"
	"github.com/otelprof/otelprof/otelhdr"
)

var hdrDiffCommand = &command.Command{
	Name:  "diff",
	Args:  "BEFORE AFTER",
	Short: "Compare two files, with changes in percent, and judge which is faster",
	Long: hdrFiles + `
The D-value is Cohen's d: the difference of the means in standard deviations. Around 0.2
is a small effect and 0.8 a large one.

The last line judges a percentile by an interval of its change: faster or slower by more
than the margin, the same within it, or undecided. Where both files have ten intervals or
more, each interval is one run; otherwise all values are taken for independent of each
other. With -expect the exit status is 1 unless the interval shows what is expected:
faster, or not-slower, which is slower by no more than the margin.
`,
	Run: func(c *command.Call) error {
		tag, scale := tagFlag(c), scaleFlag(c)
		percent := c.Float64("percentile", 50, "`percentile` to judge, in [0.001, 99.999]")
		confidence := c.Float64("confidence", 99, "how often the interval holds the true change, in `percent`")
		margin := c.Float64("margin", 1, "change that counts as none, in `percent`")
		expect := c.String("expect", "", "`verdict` to fail without: faster or not-slower")
		if err := c.ParseArgs(2, 2); err != nil {
			return err
		}
		if !slices.Contains([]string{"", "faster", "not-slower"}, *expect) {
			return command.Usagef("expect %q: must be faster or not-slower", *expect)
		}
		judge := otelhdr.Judge{Percent: *percent, Confidence: *confidence / 100, Margin: *margin / 100}
		if *percent == 0 || *confidence == 0 { // a Judge would take these for the defaults
			return command.Usagef("percentile %v, confidence %v: must not be 0", *percent, *confidence)
		}
		if _, err := judge.Runs(nil, nil); err != nil {
			return command.Usagef("%v", err)
		}
		files, err := readHistograms(c, c.Args(), *tag, *scale, true)
		if err != nil {
			return err
		}
		var sides [2]*otelhdr.Snapshot
		for i, f := range files {
			if sides[i], err = merge([]histogramFile{f}); err != nil {
				return err
			}
		}
		before, after := files[0].title(), files[1].title()
		if before == after { // they are distinguished by their folders
			before, after = files[0].name, files[1].name
		}
		diff := otelhdr.Diff{Before: sides[0].Summary(nil), After: sides[1].Summary(nil)}
		judgement, err := judgeFiles(judge, files, sides)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(c.Stdout, "%s\n%v\n", diff.Markdown("", before, after), judgement); err != nil {
			return err
		}
		if *expect == "faster" && judgement.Verdict != otelhdr.Faster || *expect == "not-slower" && !judgement.NotSlower() {
			return fmt.Errorf("%s: not shown to be %s", after, *expect)
		}
		return nil
	},
}

// leastRuns is how many intervals a file must have to be compared by them.
const leastRuns = 10

// judgeFiles takes each interval for a run if both files have enough of them.
func judgeFiles(judge otelhdr.Judge, files []histogramFile, sums [2]*otelhdr.Snapshot) (otelhdr.Judgement, error) {
	var runs [2][]*otelhdr.Snapshot
	for i, f := range files {
		for _, interval := range f.intervals {
			if interval.Snapshot.Count() > 0 {
				runs[i] = append(runs[i], interval.Snapshot)
			}
		}
	}
	if min(len(runs[0]), len(runs[1])) >= leastRuns {
		return judge.Runs(runs[0], runs[1])
	}
	return judge.Values(sums[0], sums[1])
}
