package whatif

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/otelprof/otelprof/cmd/otelprof/internal/client"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// together reads the recordings of several processes at once, and joins them. A viewer is left out
// that does not answer where others do, or that no request joins to them.
func together(names []string, read func(name string) (*trace.Recording, error), leave func(name string, why error)) (*trace.Recording, error) {
	if len(names) == 1 {
		return read(names[0])
	}
	all, errs := client.Each(names, read)
	var there []string
	var recs []*trace.Recording
	for i, err := range errs {
		switch {
		case err == nil:
			there, recs = append(there, names[i]), append(recs, all[i])
		case client.IsURL(names[i]) && slices.Contains(errs, nil): // one of many instances may be gone
			leave(names[i], err)
		default:
			return nil, fmt.Errorf("%s: %w", names[i], err)
		}
	}
	for len(recs) > 1 {
		rec, err := trace.Join(there, recs)
		apart, ok := errors.AsType[*trace.ApartError](err)
		if !ok || len(recs) == 2 || !client.IsURL(apart.Name) {
			return rec, err
		}
		leave(apart.Name, err)
		there, recs = slices.Delete(there, apart.Process, apart.Process+1), slices.Delete(recs, apart.Process, apart.Process+1)
	}
	return recs[0], nil
}

// leave notes that a process is left out.
func (w *whatif) leave(name string, why error) {
	if note := fmt.Sprintf("%s is left out: %v", name, why); !slices.Contains(w.left, note) {
		w.left = append(w.left, note)
	}
}

// clocksOf returns how the clocks of joined recordings differ, raw and as they are mapped.
func clocksOf(rec *trace.Recording) (notes []string) {
	for i, p := range rec.Processes {
		if i == 0 {
			continue
		}
		c := p.Clock
		others := ""
		if c.LeftOut > 0 {
			others = fmt.Sprintf("; %d others contradict these", c.LeftOut)
		}
		notes = append(notes, fmt.Sprintf("clock of %s: %.6f s behind that of %s, and %.1f µs a second slow; a request took %v on its way at least by the clocks as they are, %v as they are mapped, which may be off by %v: by %d requests and answers%s",
			p.Name, time.Duration(c.Offset).Seconds(), rec.Processes[0].Name, 1e6*c.Drift, time.Duration(p.Raw), time.Duration(p.Lag), time.Duration(c.Bound), c.Messages, others))
	}
	return notes
}

// sharedBy returns which regions have spans in several of the joined processes: they are one
// region.
func sharedBy(rec *trace.Recording) (notes []string) {
	homes := rec.Homes()
	if homes == nil {
		return nil
	}
	first := map[int32]int32{} // process, by region
	var shared []string
	for i := range rec.Events {
		e := &rec.Events[i]
		if e.Kind != trace.EvOpen {
			continue
		}
		region := rec.Spans[e.Ref].Region
		if home, known := first[region]; !known {
			first[region] = homes[e.G]
		} else if home != homes[e.G] && home >= 0 {
			first[region] = -1 // it is named
			shared = append(shared, rec.Regions[region].Name)
		}
	}
	if len(shared) > 0 {
		notes = append(notes, "spans of one scope and name are one region, though of several processes: "+some(shared))
	}
	return notes
}
