package saved

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/otelprof/otelprof/causal/profile"
)

// maxCozLine bounds a line of a profile.coz, and maxRounds the experiments of one speed-up that
// are used.
const (
	maxCozLine = 1 << 20
	maxRounds  = 300
)

// A cozCurve is what a profile.coz has about one place in the program and one progress point.
type cozCurve struct{ selected, progress string }

// cozPeriods are the times between visits, in nanoseconds, of experiments at one speed-up.
type cozPeriods map[float64][]float64

// readCoz takes a profile.coz, Coz's own or one of ours. Every experiment is a sample. Of latency
// points it knows too little for a latency.
func (r *Reader) readCoz(at *FileReport, in io.Reader) error {
	curves := map[cozCurve]cozPeriods{}
	var selected string
	var speedup, duration float64
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxCozLine)
	lines.Split(withEnds)
	var offset int64
	line := 1
	for ; lines.Scan(); line++ {
		text, whole := strings.CutSuffix(lines.Text(), "\n")
		kind, fields := cozFields(strings.TrimSuffix(text, "\r"))
		var err error
		if !whole { // its last number may lack digits
			kind, err = "", fmt.Errorf("%w: the file ends in the middle of it", errTorn)
		}
		switch kind {
		case "experiment":
			selected = fields["selected"]
			if speedup, err = cozNumber(fields, "speedup", 1); err == nil {
				duration, err = cozNumber(fields, "duration", math.MaxInt64)
			}
			if err != nil {
				selected = "" // what follows belongs to it
			}
		case "throughput-point", "progress-point":
			var visits float64
			if visits, err = cozNumber(fields, "delta", math.MaxInt64); err == nil && visits > 0 && selected != "" {
				key := cozCurve{selected, fields["name"]}
				if curves[key] == nil {
					curves[key] = cozPeriods{}
				}
				curves[key][speedup] = append(curves[key][speedup], duration/visits)
			}
		}
		if err != nil {
			at.add(&Problem{Line: line, Offset: offset, Err: err})
		}
		offset += int64(len(lines.Bytes()))
	}
	if err := lines.Err(); err != nil { // what came before is whole
		at.add(&Problem{Line: line, Offset: offset, Err: err})
	}
	p, ok := cozProfile(curves)
	if !ok {
		return fmt.Errorf("profile.coz without an experiment at speedup 0 and one above: %w", errFormat)
	}
	at.Others++
	r.profiles = append(r.profiles, p)
	return nil
}

// withEnds splits a text into lines that have their ends, and perhaps one at last that has none.
func withEnds(data []byte, atEOF bool) (advance int, line []byte, err error) {
	n := bytes.IndexByte(data, '\n') + 1
	if n == 0 && atEOF {
		n = len(data)
	}
	if n == 0 {
		return 0, nil, nil
	}
	return n, data[:n], nil
}

// cozFields splits a line at its tabs.
func cozFields(line string) (kind string, fields map[string]string) {
	kind, rest, _ := strings.Cut(line, "\t")
	fields = map[string]string{}
	for field := range strings.SplitSeq(rest, "\t") {
		key, value, _ := strings.Cut(field, "=")
		fields[key] = value
	}
	return kind, fields
}

func cozNumber(fields map[string]string, key string, most float64) (float64, error) {
	v, err := strconv.ParseFloat(fields[key], 64)
	if err != nil || !(v >= 0 && v <= most) {
		return 0, fmt.Errorf("%s %q: must be a number in [0, %g]", key, fields[key], most)
	}
	return v, nil
}

// cozProfile makes one profile of each round of experiments and merges them, which estimates
// from the samples of all.
func cozProfile(curves map[cozCurve]cozPeriods) (profile.Profile, bool) {
	keys := slices.SortedFunc(maps.Keys(curves), func(a, b cozCurve) int {
		return cmp.Or(strings.Compare(a.selected, b.selected), strings.Compare(a.progress, b.progress))
	})
	rounds := []profile.Profile{{}, {}} // one alone would not be estimated
	for _, key := range keys {
		periods := curves[key]
		base := mean(periods[0])
		if !(base > 0 && base < float64(24*time.Hour)) {
			continue
		}
		for _, speedup := range slices.Sorted(maps.Keys(periods)) {
			samples := periods[speedup]
			if speedup == 0 {
				continue
			}
			for i, period := range samples[:min(len(samples), maxRounds)] {
				if i == len(rounds) {
					rounds = append(rounds, profile.Profile{})
				}
				rounds[i].Experiments++
				rounds[i].Curves = append(rounds[i].Curves, cozEffect(key, base, speedup, period))
			}
		}
	}
	p := profile.Merge(rounds...)
	p.Mode, p.Notes = profile.ModeOverlap, []string{"read from a profile.coz, which has no intervals: they are those of its experiments"}
	return p, len(p.Curves) > 0
}

// cozEffect is the outcome of one experiment, which has no scatter.
func cozEffect(key cozCurve, base, speedup, period float64) profile.Curve {
	reduction := 1 - period/base
	return profile.Curve{
		Mode: profile.ModeOverlap, Region: profile.Region{Name: key.selected}, Progress: key.progress,
		Metric: profile.MetricThroughput, BasePeriod: time.Duration(base),
		Effects: []profile.Effect{{
			Speedup: speedup, Reduction: reduction, Lo: min(-1, reduction), Hi: max(1, reduction),
			Samples: 1, Reductions: []float64{reduction},
		}},
	}
}

func mean(values []float64) float64 {
	var sum float64
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values)) // NaN of none
}
