package doctor

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/otelprof/otelprof/internal/testutil"
	"github.com/otelprof/otelprof/pmuattrs"
)

// TestCheckCounters runs the check where there is a PMU, such as in make qemu, and elsewhere checks
// the error.
func TestCheckCounters(t *testing.T) {
	counts, err := CheckCounters()
	if err != nil {
		if !errors.Is(err, pmuattrs.ErrNotSupported) && !errors.Is(err, pmuattrs.ErrPermission) || len(counts) > 0 {
			t.Errorf("%d counts, %v; want none, and ErrNotSupported or ErrPermission", len(counts), err)
		}
		testutil.Lacks(t, "PMU", err.Error())
	}
	tried := 0
	for _, k := range counts {
		if k.Status == StatusUntried {
			if k.Counted != nil || k.Detail == "" {
				t.Errorf("%s, %s: %v, %q; want a reason and no count", k.Work, k.Event, k.Counted, k.Detail)
			}
			continue
		}
		tried++
		if k.Status != StatusOK {
			t.Errorf("%s, %s: counted %v, in user space %v; want %v to %v", k.Work, k.Event, value(k.Counted), value(k.CountedInUser), k.Least, k.Most)
		}
		t.Logf("%s, %s: %v, in user space %v", k.Work, k.Event, value(k.Counted), value(k.CountedInUser))
	}
	if tried < 2 {
		t.Errorf("%d of %d events were counted, want instructions at least twice", tried, len(counts))
	}
}

func value(f *float64) float64 {
	if f == nil {
		return math.NaN()
	}
	return *f
}

// TestKnownWork checks that expectations leave room for every cache, and that all work runs.
func TestKnownWork(t *testing.T) {
	for _, last := range []int{0, 1 << 20, 32 << 20, 1 << 30} {
		for _, w := range knownWork(last) {
			for _, e := range w.expect {
				if !(e.least <= e.most) || e.least < 0 {
					t.Errorf("last cache %d: %s, %s: from %v to %v", last, w.name, e.event.name, e.least, e.most)
				}
				if last == 1<<30 && e.event == cacheMisses && e.least != 0 {
					t.Errorf("a walk within the last cache: at least %v misses", e.least)
				}
			}
		}
	}
	for _, w := range knownWork(0) {
		w.run(10)
	}
}

// TestCountsInTable checks how counts are shown: as expected, off, and not tried.
func TestCountsInTable(t *testing.T) {
	n := func(f float64) *float64 { return &f }
	r := Report{Counts: []KnownCount{
		{Work: "dependent additions", Event: "instructions", Status: StatusOK, Counted: n(18), CountedInUser: n(18.0006), Least: 17.82, Most: 18.18},
		{Work: "random branches", Event: "branch_misses", Status: StatusOff, Counted: n(0.01), Least: 0.4, Most: 0.6},
		{Work: "walk through memory", Event: "l1d.read_misses", Status: StatusUntried, Least: 0.9, Most: 3, Detail: "the CPU does not have it"},
	}}
	var b strings.Builder
	if err := r.WriteTable(&b, false); err != nil {
		t.Fatal(err)
	}
	_, got, _ := strings.Cut(b.String(), "CPUs\n")
	want := `
         work, for a round    event                   counted  user reads  expected
ok       dependent additions  instructions              18.00       18.00  17.82 to 18.18
off      random branches      branch_misses              0.01           -  0.40 to 0.60
untried  walk through memory  l1d.read_misses               -           -  the CPU does not have it
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}
