// Package hdr is the command hdr: histogram files printed, merged, compared, plotted and converted.
package hdr

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/otelprof/otelprof/cmd/otelprof/internal/client"
	"github.com/otelprof/otelprof/cmd/otelprof/internal/command"
	"github.com/otelprof/otelprof/otelhdr"
	"github.com/otelprof/otelprof/otelhdr/hdrlog"
)

var Command = &command.Command{
	Name:  "hdr",
	Short: "Print, compare, merge, convert and plot histograms",
	Sub:   []*command.Command{hdrPrintCommand, hdrDiffCommand, hdrMergeCommand, hdrConvertCommand, hdrPlotCommand},
}

const hdrFiles = `
A FILE is an HdrHistogram log (.hlog), a percentile distribution (.hgrm), an encoded
histogram (base64), or CSV or JSON as convert writes them; - is standard input.
`

// A histogramFile is what a file holds.
type histogramFile struct {
	name      string
	intervals []hdrlog.Interval
}

// title is what tables call the file.
func (f histogramFile) title() string { return filepath.Base(f.name) }

// A reader takes the histograms of files.
type reader struct {
	call  *command.Call
	tag   string // of the intervals that are taken, "*" for all
	scale float64
	// each is true if the intervals of a file are wanted one by one. Otherwise they are added up
	// where they take an eighth of the most bytes that all histograms may take, of which so many
	// are held.
	each       bool
	most, held int64
}

// mostHeld is that of all commands. One line of a log may take 50 MB, and a thousand times less in
// the file.
const mostHeld = 4 << 30

// readHistograms reads files, and of those with tags only the intervals of one tag unless that is
// "*".
func readHistograms(c *command.Call, files []string, tag string, scale float64, each bool) ([]histogramFile, error) {
	r := reader{call: c, tag: tag, scale: scale, each: each, most: mostHeld}
	var all []histogramFile
	for _, name := range files {
		intervals, err := client.ReadFile(name, c.Stdin, func(in io.Reader) ([]hdrlog.Interval, error) { return r.decode(name, in) })
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if len(intervals) == 0 {
			return nil, fmt.Errorf("%s: no histograms", name)
		}
		all = append(all, histogramFile{name: name, intervals: intervals})
	}
	return all, nil
}

// mostCorrupt is how many corrupt lines of a file are reported one by one.
const mostCorrupt = 10

// decode reads histograms in any format. Lines of a log that are corrupt are reported and left out.
func (r *reader) decode(name string, from io.Reader) (all []hdrlog.Interval, err error) {
	in, format, err := detect(from)
	if err != nil {
		return nil, err
	}
	if format != formatHlog {
		s, err := readSnapshot(in, format, r.scale)
		if err != nil {
			return nil, err
		}
		return r.add(nil, hdrlog.Interval{Snapshot: s})
	}
	corrupt := 0
	defer func() {
		if more := corrupt - mostCorrupt; more > 0 {
			fmt.Fprintf(r.call.Stderr, "otelprof: %s: %d more lines; left out\n", name, more)
		}
	}()
	for i, err := range hdrlog.NewReader(in).All() {
		var line *hdrlog.LineError
		switch {
		case err == nil:
			if all, err = r.add(all, i); err != nil {
				return nil, err
			}
		case errors.As(err, &line):
			if corrupt++; corrupt <= mostCorrupt {
				fmt.Fprintf(r.call.Stderr, "otelprof: %s: %v; left out\n", name, err)
			}
		default:
			return nil, err
		}
	}
	return all, nil
}

// add adds an interval to those of a file.
func (r *reader) add(all []hdrlog.Interval, i hdrlog.Interval) ([]hdrlog.Interval, error) {
	if r.tag != "*" && i.Tag != r.tag {
		return all, nil
	}
	all = append(all, i)
	r.held += int64(i.Snapshot.SizeBytes())
	if !r.each && len(all) > 1 && r.held > r.most/8 {
		sum, err := mergeInterval([]histogramFile{{intervals: all}})
		if err != nil {
			return nil, err
		}
		for _, one := range all {
			r.held -= int64(one.Snapshot.SizeBytes())
		}
		all = []hdrlog.Interval{sum}
		r.held += int64(sum.Snapshot.SizeBytes())
	}
	if r.held > r.most {
		return nil, fmt.Errorf("histograms of more than %d MiB in memory: must be less; -tag takes those of one tag", r.most>>20)
	}
	return all, nil
}

// merge adds up all intervals. Where their layouts differ, the finest one is kept and the others'
// buckets count where their middles fall.
func merge(files []histogramFile) (*otelhdr.Snapshot, error) {
	finest := new(otelhdr.Snapshot)
	for _, f := range files {
		for _, i := range f.intervals {
			if e := i.Snapshot.Resolution(); finest.Resolution() == 0 || e < finest.Resolution() {
				finest = i.Snapshot
			}
		}
	}
	sum := new(otelhdr.Snapshot)
	if err := sum.Merge(finest); err != nil {
		return nil, err
	}
	for _, f := range files {
		for _, i := range f.intervals {
			if i.Snapshot == finest {
				continue
			}
			if err := sum.MergeMidpoints(i.Snapshot); err != nil {
				return nil, fmt.Errorf("%s: %w", f.name, err)
			}
		}
	}
	return sum, nil
}

// mergeInterval is merge with the span of time that the intervals cover, as far as they have times,
// and with the maximum that they state, if all do.
func mergeInterval(files []histogramFile) (hdrlog.Interval, error) {
	s, err := merge(files)
	if err != nil {
		return hdrlog.Interval{}, err
	}
	sum := hdrlog.Interval{Tag: files[0].intervals[0].Tag, Snapshot: s}
	var end time.Time
	stated := true
	for _, f := range files {
		for _, i := range f.intervals {
			if i.Tag != sum.Tag {
				sum.Tag = ""
			}
			stated = stated && (i.Max != 0 || i.Snapshot.Count() == 0)
			sum.Max = max(sum.Max, i.Max)
			if i.Start.IsZero() {
				continue
			}
			if sum.Start.IsZero() || i.Start.Before(sum.Start) {
				sum.Start = i.Start
			}
			if e := i.Start.Add(i.Length); e.After(end) {
				end = e
			}
		}
	}
	if !stated {
		sum.Max = 0
	}
	if !sum.Start.IsZero() {
		sum.Length = end.Sub(sum.Start)
	} else {
		sum.Start = time.Unix(0, 0)
	}
	return sum, nil
}

// tagFlag defines the flag that chooses intervals.
func tagFlag(c *command.Call) *string {
	return c.String("tag", "*", "use only intervals of this `tag`; an empty one means those without, * means all")
}

// scaleFlag defines the flag for the unit of .hgrm files.
func scaleFlag(c *command.Call) *float64 {
	return c.Float64("scale", 1, "`number` that values of .hgrm files are multiplied by when read and divided by when written")
}
