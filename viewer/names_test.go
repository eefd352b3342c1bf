package viewer

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"testing"
	"time"

	"github.com/otelprof/otelprof/spans"
	"github.com/otelprof/otelprof/spans/schedule"
	"github.com/otelprof/otelprof/spans/stacks"
)

// TestRegionsOfAnyName asks for regions by names that no path can have, also below a prefix.
func TestRegionsOfAnyName(t *testing.T) {
	h := testHandler(t, nil)
	for _, name := range []string{"", "/", ".", "..", "//", "/a/", "a/../b", "%2F", "%", "a?b#c", "a+b &c=d", "GET /caf\xe9", "\xff\xfe", "{name}"} {
		h.regions = func() []spans.RegionStats { return []spans.RegionStats{{Name: name}} }
		for _, asked := range []string{name, string([]rune(name))} { // as it is, and as JSON has it
			path := "/api/v1/regions/distribution?" + url.Values{"name": {asked}, "scope": {""}}.Encode()
			for what, served := range map[string]http.Handler{"": h, "/debug/otelprof": http.StripPrefix("/debug/otelprof", h)} {
				got := decode[distributionJSON](t, ask(t, served, "GET", what+path, ""), 200)
				checkEqual(t, "name", got.Name, string([]rune(name)))
			}
		}
	}
}

// A name with bytes that are no UTF-8 is asked for as JSON has it, of sessions and of their spans.
func TestSessionsOfAnyName(t *testing.T) {
	h := testHandler(t, nil)
	const request, step = "GET /caf\xe9", "SELECT \xff"
	h.regions = func() []spans.RegionStats { return []spans.RegionStats{{Name: request}, {Name: step}} }
	h.store = fakeStore{{ID: testID(1), Origin: testID(1), Name: request, Start: testStart, Spans: []spans.SpanRecord{{Name: request}, {Name: step}}}}
	for _, name := range []string{request, step} {
		for _, asked := range []string{name, string([]rune(name))} {
			path := "/api/v1/sessions?" + url.Values{"name": {asked}, "whole": {"1"}}.Encode()
			checkEqual(t, strconv.Quote(asked), len(decode[sessionsJSON](t, ask(t, h, "GET", path, ""), 200).Sessions), 1)
		}
	}
}

// A named source has a region of a name in two scopes, beside another one.
type named struct {
	fakeStacks
	name string
}

// Snapshot has 160 samples in the regions of the name, and 10 in none.
func (n *named) Snapshot(time.Duration) *stacks.Recording {
	all := n.fakeStacks.Snapshot(0)
	for i := range 2 {
		all.Regions[i].Name = n.name
	}
	return all
}

type namedSchedule string

func (n namedSchedule) Snapshot(context.Context) (*schedule.Report, error) {
	return &schedule.Report{Regions: []schedule.Region{{Name: string(n), Count: 7}, {Name: "other"}}}, nil
}

// TestStacksAndScheduleOfAnyName asks for what else there is of such regions; that without a name
// is not the process.
func TestStacksAndScheduleOfAnyName(t *testing.T) {
	for _, name := range []string{"", "/", ".", "..", "a/../b", "%2F", "a?b#c", "a+b &c=d", "GET /caf\xe9"} {
		h := testHandler(t, nil)
		h.regions = func() []spans.RegionStats { return []spans.RegionStats{{Name: name}} }
		h.stacks, h.schedule = &named{name: name}, namedSchedule(name)
		asked := "?" + url.Values{"name": {name}}.Encode()
		got := decode[stacksAnswer](t, ask(t, h, "GET", "/api/v1/regions/stacks"+asked, ""), 200)
		checkEqual(t, "samples of "+strconv.Quote(name), got.Tree.Samples, 160)
		split := decode[scheduleJSON](t, ask(t, h, "GET", "/api/v1/regions/schedule"+asked, ""), 200)
		if len(split.Regions) != 1 || split.Regions[0].Count != 7 {
			t.Errorf("schedule of %q: %+v, want the region of the name", name, split.Regions)
		}
	}
}
