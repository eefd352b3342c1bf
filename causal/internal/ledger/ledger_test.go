package ledger

import (
	"errors"
	"math"
	"testing"
)

func TestSettingErrors(t *testing.T) {
	for _, h := range []Hypothesis{
		{Region: NoRegion, Speedup: .5},
		{Region: 0, Speedup: -.1},
		{Region: 0, Speedup: 1.1},
		{Region: 0, Speedup: math.NaN()},
	} {
		if _, err := NewPaidSetting(h, 1); !errors.Is(err, errSetting) {
			t.Errorf("NewPaidSetting(%v) = %v, want an error", h, err)
		}
	}
}

// Without a hypothesis no region is one, also not that of all spans that have none.
func TestNoHypothesis(t *testing.T) {
	s, l := NewSetting(1), New()
	var st Stamp
	other := New()
	other.Begin(s, 0, NoRegion, nil, false)
	other.Stamp(s, 120, &st) // it has read the clock late
	f := l.Begin(s, 0, 0, nil, true)
	l.Arrive(s, 10)
	l.Acquire(s, 10, 100, &st)
	d := f.End(s, 150, false)
	checkSaved(t, l, s, 200, 0)
	if d.Real != 150 || d.Saved != 0 {
		t.Errorf("End = %+v, want 150 and nothing saved", d)
	}
	if got := s.Counts(); got.Attributed != 90 {
		t.Errorf("Counts() = %+v, want 90 attributed", got)
	}
}

func TestRegions(t *testing.T) {
	s, l := setting(t, Hypothesis{3, .5}), New()
	for _, r := range []RegionID{3, 1, 2, 7, NoRegion} {
		l.Begin(s, 100, r, nil, false).End(s, 200, false)
	}
	checkSaved(t, l, s, 200, 50)
}

func TestRegionTime(t *testing.T) {
	s, l := half(t), New()
	f := l.Begin(s, 10, 0, nil, false)
	checkSaved(t, l, s, 20, 5)
	f.End(s, 30, false)
	checkSaved(t, l, s, 40, 10)
}

func TestRegionOpenTwiceEarnsOnce(t *testing.T) {
	for _, c := range []struct {
		name  string
		first int // to end
	}{{"nested", 1}, {"overlapping", 0}} {
		t.Run(c.name, func(t *testing.T) {
			s, l := half(t), New()
			f := []*Frame{l.Begin(s, 0, 0, nil, false), l.Begin(s, 10, 0, nil, false)}
			f[c.first].End(s, 30, false)
			checkSaved(t, l, s, 40, 20)
			f[1-c.first].End(s, 50, false)
			checkSaved(t, l, s, 60, 25)
		})
	}
}

func TestManyFrames(t *testing.T) {
	s, l := half(t), New()
	var open []*Frame
	for i := range int64(3 * inlineFrames) {
		open = append(open, l.Begin(s, 2*i, RegionID(i%2), nil, false))
	}
	for _, f := range open {
		f.End(s, 100, false)
	}
	checkSaved(t, l, s, 100, 50)
	if n := len(l.spare); n != 2*inlineFrames {
		t.Errorf("%d further frames, want %d", n, 2*inlineFrames)
	}
	for range l.inUse() {
		t.Error("a frame is in use, want none")
	}
}

func TestFork(t *testing.T) {
	s, l := half(t), New()
	f := l.Begin(s, 0, 0, nil, false)
	child := l.Fork(s, 10)
	checkSaved(t, child, s, 50, 5)
	f.End(s, 20, false)
	checkSaved(t, l, s, 50, 10)
}

func TestHandOver(t *testing.T) {
	for _, c := range []struct {
		name            string
		stamped, earned int64 // when, and with which credit
		arrived, own    int64 // when, and with which credit
		got             int64 // when
		want            int64 // credit
	}{
		{"credit goes to who waits", 100, 40, 50, 0, 100, 40},
		{"waking up is time, not credit", 100, 40, 50, 0, 110, 40},
		{"own work before counts", 100, 40, 90, 0, 100, 10},
		{"nothing gained by a free lock", 50, 20, 100, 0, 100, 0},
		{"own credit up to what was left", 50, 10, 100, 45, 100, 45},
		{"own credit is lost by waiting", 100, 0, 90, 40, 100, 0},
		{"own credit is kept if more was left", 100, 60, 90, 40, 100, 50},
		{"nobody has earned", 100, 0, 50, 0, 120, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := half(t)
			var st Stamp
			earn(t, s, c.stamped, c.earned).Stamp(s, c.stamped, &st)
			l := earn(t, s, c.arrived, c.own)
			l.Arrive(s, c.arrived)
			l.Acquire(s, c.arrived, c.got, &st)
			checkSaved(t, l, s, c.got, c.want)
			if got := s.Counts(); got.Attributed != c.got-c.arrived || got.Unattributed != 0 {
				t.Errorf("Counts() = %+v, want %d attributed", got, c.got-c.arrived)
			}
			// The same without a wait.
			l = earn(t, s, c.arrived, c.own)
			l.Acquire(s, c.arrived, c.got, &st)
			checkSaved(t, l, s, c.got, c.want)
			if got := s.Counts(); got.Attributed != c.got-c.arrived {
				t.Errorf("Counts() = %+v, want no more attributed", got)
			}
		})
	}
}

// TestWaitInRegion waits within the region, for a goroutine that has earned nothing.
func TestWaitInRegion(t *testing.T) {
	s, l := half(t), New()
	var st Stamp
	l.Begin(s, 0, 0, nil, false)
	l.Arrive(s, 20)
	New().Stamp(s, 100, &st)
	l.Acquire(s, 20, 100, &st)
	checkSaved(t, l, s, 100, 0)
	checkSaved(t, l, s, 120, 10)
}

// An onlooker ends the span meanwhile: that is no region time either.
func TestEndWhileWaiting(t *testing.T) {
	s, l := half(t), New()
	f := l.Begin(s, 0, 0, nil, false)
	l.Arrive(s, 20)
	checkSaved(t, l, s, 60, 10)
	f.End(s, 60, true)
	l.Resume(s, 20, 100)
	checkSaved(t, l, s, 100, 10)
}

func TestResume(t *testing.T) {
	s := half(t)
	l := earn(t, s, 100, 40)
	l.Arrive(s, 100)
	l.Resume(s, 100, 150)
	checkSaved(t, l, s, 150, 40)
	if got := s.Counts().Unattributed; got != 50 {
		t.Errorf("Unattributed = %d, want 50", got)
	}
}

func TestNothingWasLeft(t *testing.T) {
	s := half(t)
	l := earn(t, s, 100, 40)
	l.Acquire(s, 100, 100, &Stamp{})
	l.Arrive(s, 110)
	l.Acquire(s, 110, 150, &Stamp{})
	checkSaved(t, l, s, 150, 40)
	if got := s.Counts().Unattributed; got != 40 {
		t.Errorf("Unattributed = %d, want 40", got)
	}
}

func TestMerge(t *testing.T) {
	s := half(t)
	var a, b, empty Stamp
	earn(t, s, 100, 40).Stamp(s, 100, &a)
	earn(t, s, 110, 20).Stamp(s, 110, &b)
	a.Merge(&b)
	if a.t != 110 || a.v != 90 {
		t.Errorf("merged stamp is of %d, virtual %d, want 110, 90", a.t, a.v)
	}
	old := a
	a.Merge(&empty)
	empty.Merge(&a)
	if a != old || empty != old {
		t.Error("an empty stamp changes another one")
	}
	var later Stamp
	New().Stamp(half(t), 5, &later)
	a.Merge(&later)
	if a != later {
		t.Error("the stamp of an older setting is not replaced")
	}
	if a.Merge(&b); a != later {
		t.Error("the stamp of a later setting is changed by an older one")
	}
}

func TestSettingChange(t *testing.T) {
	s1, s2 := half(t), setting(t, Hypothesis{Region: 0, Speedup: .25})
	l := New()
	var st Stamp
	f := l.Begin(s1, 0, 0, nil, true)
	l.Stamp(s1, 40, &st)
	if got := l.Saved(s2, 50); got != 0 {
		t.Errorf("Saved in a setting that the ledger does not know = %v, want none", got)
	}
	l.Stamp(s2, 100, &Stamp{}) // the region is still open
	checkSaved(t, l, s2, 140, 10)
	l.Acquire(s2, 140, 140, &st)
	checkSaved(t, l, s2, 140, 10)
	if got := s2.Counts(); got.Unattributed != 0 || got.Attributed != 0 {
		t.Errorf("Counts() = %+v, want no wait: it began and ended at 140", got)
	}
	l.Stamp(s1, 160, &st) // by one that has not seen the new setting
	if st.serial != s2.serial {
		t.Error("a stamp of the setting before")
	}
	d := f.End(nil, 180, false)
	checkSaved(t, l, s2, 180, 20)
	if d != (Duration{}) {
		t.Errorf("End = %+v for a span that is older than the setting, want nothing", d)
	}
}

func TestOnlooker(t *testing.T) {
	s, l := half(t), New()
	f := l.Begin(s, 10, 0, nil, false)
	f.End(s, 30, true)
	checkSaved(t, l, s, 50, 10)
	if last, _ := l.Last(); last != 10 {
		t.Errorf("Last() = %d, want 10: the end is not the goroutine's own sign of life", last)
	}
}

func TestLast(t *testing.T) {
	s, l := half(t), New()
	check := func(what string, t0 int64, idle bool) {
		t.Helper()
		if gotT, gotIdle := l.Last(); gotT != t0 || gotIdle != idle {
			t.Errorf("%s: Last() = %d, %v, want %d, %v", what, gotT, gotIdle, t0, idle)
		}
	}
	check("new", 0, true)
	f := l.Begin(s, 10, 1, nil, false)
	check("span", 10, false)
	f.End(s, 20, false)
	check("ended", 20, true)
	l.Arrive(s, 30)
	check("waiting", 30, false)
	l.Resume(s, 30, 40)
	check("resumed", 40, true)
}
