package saved

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/otelprof/otelprof/otelhdr"
	"github.com/otelprof/otelprof/otelhdr/hdrlog"
	"github.com/otelprof/otelprof/spans"
	"github.com/otelprof/otelprof/spans/stacks"
)

// intervals are the histograms of .hlog files, by tag or, without one, by file.
type intervals struct {
	byName map[string]*otelhdr.Snapshot
	err    float64 // bounds the relative errors of all
	bytes  int     // that they take
}

// readIntervals takes a log whose values are durations in nanoseconds.
func (r *Reader) readIntervals(at *FileReport, in io.Reader) error {
	base := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(at.File), ".gz"), ".hlog")
	for i, err := range hdrlog.NewReader(in).All() {
		line, damaged := errors.AsType[*hdrlog.LineError](err)
		switch {
		case damaged:
			at.add(&Problem{Line: line.Line, Err: line.Err})
			continue
		case err != nil:
			return err
		}
		name := base
		if i.Tag != "" {
			name = i.Tag
		}
		if err := r.logs.add(name, i.Snapshot, r.config.bytes); err != nil {
			return err
		}
		at.Intervals++
	}
	return nil
}

// add adds a histogram to those of its name, unless all take most bytes: one line of a log may take
// 50 MB, and a thousand times less in the file.
func (i *intervals) add(name string, s *otelhdr.Snapshot, most int) error {
	if i.bytes >= most {
		return fmt.Errorf("histograms: must take less than %d MiB of memory", most>>20)
	}
	if i.byName == nil {
		i.byName = map[string]*otelhdr.Snapshot{}
	}
	known := i.byName[name]
	if known == nil && len(i.byName) >= maxRegions {
		name = "other"
		known = i.byName[name]
	}
	if known == nil {
		known = new(otelhdr.Snapshot)
		i.byName[name] = known
	}
	err := s.RelativeError()
	if known.Resolution() != 0 && known.Resolution() != s.Resolution() {
		err += known.Resolution() // each bucket goes where its middle falls
	}
	i.err = max(i.err, err)
	i.bytes -= known.SizeBytes()
	defer func() { i.bytes += known.SizeBytes() }()
	return known.MergeMidpoints(s)
}

// stats are regions of the scope hlog, without self time and errors.
func (i *intervals) stats() map[regionKey]spans.RegionStats {
	all := make(map[regionKey]spans.RegionStats, len(i.byName))
	for name, s := range i.byName {
		key := regionKey{scope: "hlog", name: name}
		all[key] = spans.RegionStats{Name: name, Count: s.Count(), Total: time.Duration(min(s.Sum(), 1<<62)), Durations: s}
	}
	return all
}

func (r *Reader) readStacks(at *FileReport, in io.Reader) error {
	recording, err := stacks.Read(in)
	if err != nil {
		return fmt.Errorf("%w: %w", errFormat, err)
	}
	at.Others++
	r.recordings = append(r.recordings, recording)
	return nil
}
