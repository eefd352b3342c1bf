// Package foretold holds a program to its causal profile: what was foretold of one version beside
// what came with the next. Each version appends to a file what it measures and foretells; nothing
// in it is ever changed.
package foretold

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/otelprof/otelprof/causal/profile"
)

// FileName is the file in a data folder. It is hidden from what reads OTLP there.
const FileName = ".foretold.jsonl"

const (
	api = "causal-foretold/v1"
	// MaxBytes is how large the file becomes; then nothing is added any more.
	MaxBytes = 16 << 20
	maxLine  = 1 << 20
	// mostCurves is how many curves a record has, the strongest first.
	mostCurves = 200
)

// A Record is what one version of a service did, and what was foretold of it.
type Record struct {
	API     string    `json:"api"`
	Service string    `json:"service"`
	Version string    `json:"version"`
	Time    time.Time `json:"time"`
	// Lasted is how long it has been measured.
	Lasted  time.Duration `json:"lasted_ns"`
	Regions []Measured    `json:"regions"`
	Curves  []Curve       `json:"curves"`
}

// Measured is what a region did: ns are those of one span.
type Measured struct {
	Region profile.Region `json:"region"`
	Count  uint64         `json:"count"`
	Mean   float64        `json:"mean_ns"`
	Self   float64        `json:"self_ns"`
	P50    float64        `json:"p50_ns"`
	P90    float64        `json:"p90_ns"`
	P99    float64        `json:"p99_ns"`
}

// A Curve is what a faster region would bring to a progress point.
type Curve struct {
	Region   profile.Region `json:"region"`
	Progress string         `json:"progress"`
	Metric   profile.Metric `json:"metric"`
	Effects  []Effect       `json:"effects"`
}

// An Effect is the reduction at one speed-up, with its interval.
type Effect struct {
	Speedup   float64 `json:"speedup"`
	Reduction float64 `json:"reduction"`
	Lo        float64 `json:"lo"`
	Hi        float64 `json:"hi"`
}

// CurvesOf are the curves of a profile that have numbers, one for each region, progress point and
// metric: the first, which is that of the mode to believe first.
func CurvesOf(p profile.Profile) (curves []Curve) {
	type key struct {
		region   profile.Region
		progress string
		metric   profile.Metric
	}
	seen := map[key]bool{}
	for _, c := range p.Curves {
		k := key{c.Region, c.Progress, c.Metric}
		var effects []Effect
		for _, e := range c.Effects {
			if e.Known() {
				effects = append(effects, Effect{e.Speedup, e.Reduction, e.Lo, e.Hi})
			}
		}
		if len(effects) == 0 || seen[k] || c.Region.Name == c.Progress || len(curves) == mostCurves {
			continue
		}
		seen[k] = true
		curves = append(curves, Curve{c.Region, c.Progress, c.Metric, effects})
	}
	return curves
}

// Append adds a record to a file.
func Append(name string, r Record) error {
	r.API = api
	line, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("foretold: %w", err)
	}
	if len(line) > maxLine {
		return fmt.Errorf("foretold: record of %d bytes: must have at most %d", len(line), maxLine)
	}
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return fmt.Errorf("foretold: %w", err)
	}
	if err := errors.Join(appendLine(f, line), f.Close()); err != nil {
		return fmt.Errorf("foretold: %w", err)
	}
	return nil
}

func appendLine(f *os.File, line []byte) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Size()+int64(len(line)) > MaxBytes {
		return fmt.Errorf("%s: must have at most %d bytes: move it away for a new one", f.Name(), MaxBytes)
	}
	line = append(line, '\n')
	if info.Size() > 0 {
		last := make([]byte, 1)
		if _, err := f.ReadAt(last, info.Size()-1); err != nil {
			return err
		}
		if last[0] != '\n' { // a process ended, or the disk was full
			line = append([]byte{'\n'}, line...)
		}
	}
	_, err = f.Write(line) // one write, so that no other process comes in between
	return err
}

// Read reads the records of a service in a file, in their order; none where there is no file. A
// line that was cut off or is too long, and one of a later version of the format, is left out.
func Read(name, service string) (all []Record, err error) {
	f, err := os.Open(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("foretold: %w", err)
	}
	defer f.Close() //nolint:errcheck // Nothing was written.
	return parse(io.LimitReader(f, MaxBytes), service)
}

func parse(from io.Reader, service string) (all []Record, err error) {
	in := bufio.NewReaderSize(from, 64<<10)
	for {
		text, err := nextLine(in)
		var r Record
		if json.Unmarshal(text, &r) == nil && r.API == api && r.Service == service {
			all = append(all, r)
		}
		switch {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return all, fmt.Errorf("foretold: %w", err)
		}
	}
}

// nextLine returns the next line, nothing of one that is too long. With an error it is the last.
func nextLine(in *bufio.Reader) (line []byte, err error) {
	for length := 0; ; {
		part, err := in.ReadSlice('\n')
		if length += len(part); length <= maxLine+1 {
			line = append(line, part...)
		} else {
			line = nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}
