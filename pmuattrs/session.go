package pmuattrs

import (
	"errors"
	"fmt"
	"io"

	"github.com/otelprof/otelprof/otelhdr"
)

// A Session counts what a piece of code does, again and again, and keeps the counts of each
// event in a histogram: what a benchmark does for time, with counters.
//
//	runtime.LockOSThread()
//	defer runtime.UnlockOSThread()
//	s, err := pmuattrs.NewSession(pmuattrs.Cycles, pmuattrs.BranchMisses)
//	…
//	for range 1000 {
//		s.Begin()
//		work()
//		s.End()
//	}
//
// A Session belongs to the goroutine that made it, which must be locked to its thread for as
// long as it uses it. What the two calls themselves take is part of the counts: some hundred
// instructions of user code, and one to two microseconds if the kernel is counted.
type Session struct {
	counters   Counters
	reason     error
	begin, end Reading
	invalid    uint64
	histograms []*otelhdr.Histogram // one for each event
}

// NewSession counts events on the calling thread, or if there are none in the call the events that
// [WithEvents] has by default. Events that the machine does not have are left out; where there
// are none at all, the usage of the thread takes their place, see [Session.Reason]. The error wraps
// [ErrEvent] if the events cannot be counted together, and [ErrNotSupported] on systems that have
// neither.
func NewSession(events ...Event) (*Session, error) {
	if len(events) == 0 {
		events = defaultEvents()
	}
	if err := checkEvents(events); err != nil {
		return nil, fmt.Errorf("pmuattrs: session: %w", err)
	}
	counters, reason := OpenBest(events...)
	if counters == nil {
		return nil, fmt.Errorf("pmuattrs: session: %w", reason)
	}
	s := &Session{counters: counters, reason: reason}
	for range counters.Events() {
		h, err := otelhdr.NewHistogram()
		if err != nil {
			return nil, errors.Join(err, counters.Close())
		}
		s.histograms = append(s.histograms, h)
	}
	return s, nil
}

// Source returns where the counts come from.
func (s *Session) Source() Source { return s.counters.Source() }

// Events returns what is counted. It must not be modified.
func (s *Session) Events() []Event { return s.counters.Events() }

// Reason returns why not everything that was asked for is counted. It is nil if nothing is
// missing.
func (s *Session) Reason() error { return s.reason }

// Begin reads the counters. Another Begin before End replaces it.
func (s *Session) Begin() error { return s.counters.Read(&s.begin) }

// End reads the counters and records what was counted since Begin. If the numbers are of no
// use it records nothing, counts that, and returns why, see [Reading.Since].
func (s *Session) End() error {
	err := s.counters.Read(&s.end)
	if err == nil {
		var deltas Deltas
		if deltas, err = s.end.Since(s.begin); err == nil {
			for i, h := range s.histograms {
				h.Record(uint64(deltas.counts[i])) // never negative
			}
		}
	}
	s.begin = Reading{}
	if err != nil {
		s.invalid++
	}
	return err
}

// Invalid is how often End had no numbers.
func (s *Session) Invalid() uint64 { return s.invalid }

// Reset forgets what was recorded: after warming up, say.
func (s *Session) Reset() {
	for _, h := range s.histograms {
		h.Reset()
	}
	s.invalid = 0
}

// Close closes the counters.
func (s *Session) Close() error { return s.counters.Close() }

// An EventSummary is what was recorded of one event.
type EventSummary struct {
	Event Event
	*otelhdr.Summary
}

// Summaries returns what was recorded of each event since the last Reset.
func (s *Session) Summaries() []EventSummary {
	all := make([]EventSummary, len(s.histograms))
	for i, h := range s.histograms {
		all[i] = EventSummary{s.Events()[i], h.Snapshot(nil).Summary(nil)}
	}
	return all
}

// Snapshots returns the histogram of what was recorded of each event since the last Reset: for any
// percentile, and for those of several sessions together by [otelhdr.Snapshot.Merge]. What is
// recorded later does not change them. Each call copies all histograms.
func (s *Session) Snapshots() []EventCounts {
	all := make([]EventCounts, len(s.histograms))
	for i, h := range s.histograms {
		all[i] = EventCounts{s.Events()[i], h.Snapshot(nil)}
	}
	return all
}

// WriteSummaries writes a table of what was recorded of each event since the last Reset, if it
// occurred, see [otelhdr.Summary.AppendMarkdown].
func (s *Session) WriteSummaries(w io.Writer) error {
	var text []byte
	for _, e := range s.Summaries() {
		if e.Max != 0 {
			text = append(e.AppendMarkdown(text, e.Event.String()), '\n')
		}
	}
	_, err := w.Write(text)
	return err
}

// WriteDiff writes a table for each event that occurred on either side, under the names of
// the sides, see [otelhdr.Diff.AppendMarkdown]. Events that are on one side only are left out.
func WriteDiff(w io.Writer, before, after []EventSummary, beforeName, afterName string) error {
	var text []byte
	for _, a := range before {
		for _, b := range after {
			if a.Event == b.Event && (a.Max != 0 || b.Max != 0) {
				text = append(otelhdr.Diff{Before: a.Summary, After: b.Summary}.AppendMarkdown(text, a.Event.String(), beforeName, afterName), '\n')
			}
		}
	}
	_, err := w.Write(text)
	return err
}
