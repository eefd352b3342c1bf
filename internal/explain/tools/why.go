package tools

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/otelprof/otelprof/causal/profile"
)

// Explain returns why a region is slow. Of several with that name it is the first one of the scope,
// or of all where that is "".
func Explain(ctx context.Context, api API, name, scope string) (string, error) {
	regions, _, err := api.regions(ctx)
	if err != nil {
		return "", err
	}
	named := slices.DeleteFunc(slices.Clone(regions), func(r region) bool { return r.Name != name })
	if len(named) == 0 {
		return "", fmt.Errorf("region %q: must be one of %s", name, oneOf(each(regions, func(r region) string { return r.Name })))
	}
	i := slices.IndexFunc(named, func(r region) bool { return scope == "" || r.Scope == scope })
	if i < 0 {
		return "", fmt.Errorf("scope %q of region %q: must be one of %s", scope, name, oneOf(each(named, func(r region) string { return r.Scope })))
	}
	r := named[i]
	var out page
	out.line("%s (%s, scope %s): %d calls, %d errors; p50 %s, p90 %s, p99 %s, max %s; self time %s of all regions', %s of its own",
		r.Name, r.Kind, r.Scope, r.Count, r.Errors, duration(r.P50), duration(r.P90), duration(r.P99), duration(r.Max), percent(r.SelfShare), percent(r.Self/max(r.Total, 1)))
	if others := slices.Delete(named, i, i+1); len(others) > 0 {
		out.line("%d more regions have this name, and requests below may be theirs; the argument scope names another scope: %s", len(others), oneOf(each(others, region.scoped)))
	}
	if r.Pmu != nil && r.Pmu.Spans > 0 {
		out.line("on the CPU, a span in the mean of %d: %s", r.Pmu.Spans, r.counted())
	}
	if err := api.waitsOf(ctx, &out, r); err != nil {
		return "", err
	}
	if err := api.slowest(ctx, &out, name); err != nil {
		return "", err
	}
	return out.String(), nil
}

// scoped is the scope with its version.
func (r region) scoped() string { return strings.TrimSpace(r.Scope + " " + r.Version) }

func each(regions []region, text func(region) string) []string {
	all := make([]string, len(regions))
	for i, r := range regions {
		all[i] = text(r)
	}
	return all
}

func (r region) counted() string {
	var parts []string
	for _, m := range r.Pmu.Means {
		value := number(m.Mean)
		if m.Unit == "ns" {
			value = duration(m.Mean)
		}
		parts = append(parts, strings.ReplaceAll(m.Name, "_", " ")+" "+value)
	}
	if r.Pmu.IPC > 0 {
		parts = append(parts, fmt.Sprintf("%.2f instructions per cycle", r.Pmu.IPC))
	}
	return strings.Join(parts, ", ")
}

// waitsOf writes what a region waited for; a program without recordings has nothing to say.
func (a API) waitsOf(ctx context.Context, out *page, r region) error {
	var answer waits
	if err := a.get(ctx, "regions/waits?"+url.Values{"name": {r.Name}, "scope": {r.Scope}}.Encode(), &answer); err != nil {
		if _, refused := err.(refusal); refused { //nolint:errorlint // made by get itself
			return nil
		}
		return err
	}
	out.tail(answer.Tails)
	if len(answer.Regions) == 0 || len(answer.Regions[0].Waits) == 0 {
		out.line("what it waits for is not known: no recording has had it yet")
		return nil
	}
	of := answer.Regions[0]
	out.line("")
	out.line("what %d spans waited for in the last recordings, those below included (shares of their time; at the same time they add up to more)", of.Spans)
	const most, least = 12, 0.0005 // what is shorter explains nothing
	rows := make([][]string, 0, most)
	for _, w := range of.Waits[:min(len(of.Waits), most)] {
		if len(rows) > 0 && float64(w.Total) < least*float64(of.Time) {
			break
		}
		in := ""
		if w.In != of.Region {
			in = w.In.Name
		}
		rows = append(rows, []string{waitedFor(w.Kind, w.Where), endedBy(w.By.Name, w.ByWhere), in, percent(float64(w.Total) / max(float64(of.Time), 1)), duration(float64(w.Total) / float64(max(of.Spans, 1))), duration(float64(w.Longest))})
	}
	out.table("waits", []string{"waits for", "ended by", "in span", "share", "a span", "longest"}, rows)
	return nil
}

// tail writes why the slowest requests are slow, what explains a fiftieth or more.
func (p *page) tail(all []profile.Tail) {
	if len(all) == 0 || all[0].Slow <= all[0].Typical {
		return
	}
	const least = 0.02
	t := all[0]
	var rows [][]string
	for _, part := range t.Parts {
		share := float64(part.Slow-part.Typical) / float64(t.Slow-t.Typical)
		if share < least {
			break
		}
		in := ""
		if part.In != t.Region {
			in = part.In.Name
		}
		rows = append(rows, []string{waitedFor(part.Kind, part.Where), endedBy(part.By.Name, part.ByWhere), in, percent(share), duration(float64(part.Slow)), duration(float64(part.Typical)), duration(float64(t.Slow - part.Slow + part.Typical))})
	}
	p.line("")
	p.line("why the slowest %d of %d requests are slow: %s in the mean, others %s", t.Slowest, t.Requests, duration(float64(t.Slow)), duration(float64(t.Typical)))
	p.table("parts", []string{"time for", "ended by", "in span", "of the difference", "slowest", "others", "slowest without"}, rows)
}

func waitedFor(kind, where string) string {
	if where == "" {
		return kind
	}
	return kind + " at " + short(where)
}

func endedBy(name, where string) string {
	switch {
	case name != "" && where != "":
		return name + " at " + short(where)
	case where != "":
		return short(where)
	}
	return name
}

// slowest writes the slowest sessions with a region.
func (a API) slowest(ctx context.Context, out *page, name string) error {
	var answer struct{ Sessions []session }
	if err := a.get(ctx, "sessions?"+url.Values{"name": {name}, "whole": {"1"}, "sort": {"worst"}, "limit": {"5"}}.Encode(), &answer); err != nil {
		return err
	}
	rows := make([][]string, 0, len(answer.Sessions))
	for _, s := range answer.Sessions {
		hot := ""
		if s.Hot != nil {
			hot = fmt.Sprintf("%s %s", s.Hot.Name, percent(s.Hot.Share))
		}
		known := ""
		if s.Recorded > 0 {
			known = "known"
		}
		rows = append(rows, []string{s.ID, s.Name, duration(s.Duration), hot, known})
	}
	if len(rows) > 0 {
		out.line("")
		out.table("sessions", []string{"slowest sessions", "name", "took", "most self time", "waits"}, rows)
	}
	return nil
}

// Session returns what one request did.
func Session(ctx context.Context, api API, id, name string) (string, error) {
	if id == "" {
		query := url.Values{"sort": {"worst"}, "limit": {"1"}}
		if name != "" {
			query.Set("name", name)
			query.Set("whole", "1")
		}
		var answer struct{ Sessions []session }
		if err := api.get(ctx, "sessions?"+query.Encode(), &answer); err != nil {
			return "", err
		}
		if len(answer.Sessions) == 0 {
			return "", fmt.Errorf("session with region %q: must be one that the store keeps: it has none", name)
		}
		id = answer.Sessions[0].ID
	}
	var s session
	if err := api.get(ctx, "sessions/"+url.PathEscape(id), &s); err != nil {
		return "", err
	}
	var out page
	out.line("%s, %s from %s, %d spans, %d errors, session %s, trace %s; waits known for %s of it",
		s.Name, duration(s.Duration), s.Start, len(s.Spans), s.Errors, s.ID, s.TraceID, percent(s.Recorded))
	var rows [][]string
	for _, one := range s.Spans {
		state := ""
		if one.Status == "Error" {
			state = "failed"
		}
		rows = append(rows, []string{strings.Repeat("  ", one.Depth) + one.Name, duration(one.Start), duration(one.Duration), duration(one.Self), state, one.longestWait()})
	}
	out.table("spans", []string{"span", "at", "took", "self", "", "longest wait"}, rows)
	return out.String(), nil
}

func (s span) longestWait() string {
	if len(s.Waits) == 0 {
		return ""
	}
	w := slices.MaxFunc(s.Waits, func(a, b wait) int { return cmp.Compare(a.For, b.For) })
	text := duration(w.For) + " " + waitedFor(w.Kind, w.Where)
	if by := endedBy(w.By, w.ByWhere); by != "" {
		text += ", ended by " + by
	}
	if w.BySession != "" {
		text += " of session " + w.BySession
	}
	return text
}
