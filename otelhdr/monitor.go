package otelhdr

import (
	"context"
	"io"
	"time"
)

// A Source is what a reader takes snapshots of: a [Concurrent], or anything else that may be read
// while it records.
type Source interface {
	Snapshot(dst *Snapshot) *Snapshot
}

// Monitor writes one line to w after every interval until ctx is done, about what source has
// counted since the line before:
//
//	14:06:02.381 | checkout: Total=10,195, Overflow=0, Mean=21,443.7, P0=20,096, … P100=25,216
//
// What has been counted since the last whole interval is in a last line. Monitor returns nil when
// ctx is done, and the error when w returns one. It is called in a goroutine of its own.
//
// A [Histogram] must not be monitored while it records. An interval that is not positive is taken
// as a second. Allocates nothing once the values have reached all their buckets.
func Monitor(ctx context.Context, w io.Writer, name string, interval time.Duration, source Source) error {
	if interval <= 0 {
		interval = time.Second
	}
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	m := monitor{w: w, name: name, source: source, prev: source.Snapshot(nil), cur: new(Snapshot)}
	for {
		select {
		case <-ticker.C:
			if err := m.print(time.Now()); err != nil {
				return err
			}
		case <-ctx.Done():
			return m.printRest(time.Now())
		}
	}
}

type monitor struct {
	w         io.Writer
	name      string
	source    Source
	prev, cur *Snapshot
	summary   Summary
	line      []byte
}

// print writes a line about what has been counted since the last call.
func (m *monitor) print(now time.Time) error {
	m.sumUp()
	return m.write(now)
}

// printRest is print, unless nothing has been counted.
func (m *monitor) printRest(now time.Time) error {
	if m.sumUp(); m.summary.Count == 0 {
		return nil
	}
	return m.write(now)
}

func (m *monitor) sumUp() {
	m.cur = m.source.Snapshot(m.cur)
	delta := m.cur.Since(m.prev, m.prev)
	delta.Summary(&m.summary)
	m.prev, m.cur = m.cur, delta
}

func (m *monitor) write(now time.Time) error {
	m.line = now.AppendFormat(m.line[:0], "15:04:05.000 | ")
	m.line = m.summary.AppendLine(m.line, m.name)
	m.line = append(m.line, '\n')
	_, err := m.w.Write(m.line)
	return err
}
