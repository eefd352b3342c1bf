package causal

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/otelprof/otelprof/causal/internal/engine"
	"github.com/otelprof/otelprof/causal/internal/engine/admission"
	"github.com/otelprof/otelprof/causal/plan"
)

// polled is a source that is asked again and again.
var polled = Source{Name: "server", Lease: time.Minute}

func issued(ago time.Duration) string {
	return "issued_at: " + time.Now().Add(-ago).UTC().Format(time.RFC3339Nano)
}

// TestPlanOlderThanTheProcess: what a source had before the process began takes restart: true.
func TestPlanOlderThanTheProcess(t *testing.T) {
	for _, tt := range []struct {
		name  string
		lines []string
		said  func(c *Controller) // by the source before
		want  error
	}{
		{"the first it says", nil, nil, ErrRestart},
		{"the first, restart", []string{"restart: true"}, nil, nil},
		{"the first, restart: false", []string{"restart: false"}, nil, ErrRestart},
		{"there was none", nil, func(c *Controller) { c.StopPlanFrom(polled, "there is none") }, nil},
		{"there was nonsense", nil, func(c *Controller) { c.Reject(polled, errors.New("nonsense")) }, nil},
		{"there was another one", nil, func(c *Controller) { _ = c.ApplyFrom(polled, mustParse(t, "id: other", idle)) }, nil},
		{"written before, comes later", []string{issued(20 * time.Minute)}, func(c *Controller) { c.StopPlanFrom(polled, "there is none") }, ErrRestart},
		{"written since", []string{issued(0)}, nil, nil},
		{"written by a clock that is ahead", []string{issued(-10 * time.Minute)}, nil, ErrRestart},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newController(t)
			if tt.said != nil {
				tt.said(c)
			}
			if err := c.ApplyFrom(polled, mustParse(t, append(tt.lines, idle)...)); !errors.Is(err, tt.want) || (err == nil) != (tt.want == nil) {
				t.Errorf("ApplyFrom = %v, want %v", err, tt.want)
			}
		})
	}
	c := newController(t)
	if err := c.Apply(mustParse(t, idle, issued(20*time.Minute))); err != nil {
		t.Errorf("Apply by the program = %v, want none", err)
	}
}

// Where the clock is set after the start, the start is set with it.
func TestBeganByTheClockOfNow(t *testing.T) {
	if text := started.String(); !strings.Contains(text, " m=") {
		t.Errorf("started = %s, want it with a monotonic reading", text)
	}
	now := time.Now()
	if got, want := began(now), now.Add(-time.Since(started)); got.After(want.Add(time.Millisecond)) || got.Before(want.Add(-2*time.Second)) || got.Nanosecond() != 0 {
		t.Errorf("began(%v) = %v, want about %v in whole seconds", now, got, want)
	}
}

// TestIgnoredPlanIsHeard: a source whose plan was for others while another source's ran has been
// heard.
func TestIgnoredPlanIsHeard(t *testing.T) {
	c := newController(t)
	if err := c.ApplyFrom(Source{Name: "file"}, mustParse(t, idle, "id: a")); err != nil {
		t.Fatal(err)
	}
	if err := c.ApplyFrom(polled, mustParse(t, idle, "id: b", "target: {service: bank}")); err != nil {
		t.Fatal(err)
	}
	if err := c.ApplyFrom(polled, mustParse(t, idle, "id: c")); err != nil {
		t.Errorf("ApplyFrom = %v, want none", err)
	}
}

// TestRefusedPlanStaysRefused: a source that begins anew within the process sends the plan that it
// sent before.
func TestRefusedPlanStaysRefused(t *testing.T) {
	c := newController(t)
	p := mustParse(t, idle)
	for range 3 {
		if err := c.ApplyFrom(polled, p); !errors.Is(err, ErrRestart) {
			t.Fatalf("ApplyFrom = %v, want ErrRestart", err)
		}
	}
	if err := c.ApplyFrom(polled, mustParse(t, idle, "restart: true")); err != nil {
		t.Errorf("ApplyFrom with restart = %v", err)
	}
}

// TestRestartHasNoFreshTotal: of a plan from before the process the part of limits.total is left
// that is left of its life.
func TestRestartHasNoFreshTotal(t *testing.T) {
	for _, tt := range []struct {
		lines []string
		want  time.Duration
	}{
		{nil, 30 * time.Second},                                      // half of an hour
		{[]string{issued(10 * time.Minute)}, 45 * time.Second},       // 30 of 40 minutes
		{[]string{issued(0)}, time.Minute},                           // it is not older
		{[]string{"limits: {total: 10s}"}, 5 * time.Second},          // the plan's own
		{[]string{"limits: {total: 24h}"}, 12 * time.Hour},           // all of the caps
		{[]string{issued(29 * time.Minute), "-restart:"}, time.Hour}, // refused
	} {
		c := newController(t)
		err := c.ApplyFrom(polled, mustParse(t, append([]string{"restart: true", idle}, tt.lines...)...))
		if tt.want == time.Hour {
			if !errors.Is(err, ErrRestart) {
				t.Errorf("%q: ApplyFrom = %v, want ErrRestart", tt.lines, err)
			}
			continue
		}
		got := time.Duration(c.Status().Limits.Total)
		if err != nil || got > tt.want || got < tt.want-tt.want/100 {
			t.Errorf("%q: ApplyFrom = %v, total %v, want %v", tt.lines, err, got, tt.want)
		}
	}
}

// TestSpentBudgetOutlivesThePlan: a plan that is touched, or that flaps, goes on with what is left
// of its total.
func TestSpentBudgetOutlivesThePlan(t *testing.T) {
	c := newController(t)
	const limits = "limits: {total: 10s}"
	for i, spent := range []time.Duration{0, 4 * time.Second, 3 * time.Second} {
		source := Source{Name: "server"}
		if err := c.ApplyFrom(source, mustParse(t, idle, limits, "seed: "+string(rune('1'+i)))); err != nil {
			t.Fatal(err)
		}
		c.run.Load().Guard.Spent.Add(int64(spent))
		if i%2 == 1 {
			c.StopPlanFrom(source, "there is none")
		}
	}
	if got := time.Duration(c.Status().Limits.Total); got != 6*time.Second {
		t.Errorf("total %v after 4 s were spent, want 6s", got)
	}
	if err := c.Apply(mustParse(t, idle, limits, "id: another", "seed: 7")); err != nil {
		t.Fatal(err)
	}
	if got := time.Duration(c.Status().Limits.Total); got != 10*time.Second {
		t.Errorf("total %v of another ID, want 10s", got)
	}
	if err := c.Apply(mustParse(t, idle, limits, "seed: 8")); err != nil {
		t.Fatal(err)
	}
	if got := time.Duration(c.Status().Limits.Total); got != 3*time.Second {
		t.Errorf("total %v after 7 s were spent, want 3s", got)
	}
	c.run.Load().Guard.Spent.Add(int64(3 * time.Second))
	c.StopPlan("enough")
	err := c.Apply(mustParse(t, idle, limits, "seed: 9"))
	if want := `causal: plan that has ended: id "plan-1": it has spent 10s, all of limits.total, another try needs another id`; !errors.Is(err, ErrEnded) || err.Error() != want {
		t.Errorf("Apply of a plan that has spent all = %v, want %s", err, want)
	}
}

// TestSpentBudgetOutlivesGenerations: what was spent under an ID stays spent, also when all its
// plans have expired and others have run. The IDs that are remembered are bounded.
func TestSpentBudgetOutlivesGenerations(t *testing.T) {
	now, s := time.Now(), outlays{}
	book := func(id string, expires time.Duration) {
		r := &engine.Run{Plan: &plan.Plan{ID: id, ExpiresAt: now.Add(expires)}, Guard: &admission.Guard{}}
		r.Guard.Spent.Store(int64(10 * time.Second))
		s.book(r)
	}
	for _, expires := range []time.Duration{-time.Hour, -2 * time.Minute, -time.Minute} {
		book("x", expires)
	}
	book("another", time.Hour)
	if got := s["x"].spent; got != 30*time.Second {
		t.Errorf("three generations of 10 s have spent %v", got)
	}
	for i := range maxEnded {
		book(strconv.Itoa(i), time.Duration(i)*time.Second)
	}
	if _, has := s["x"]; len(s) != maxEnded || has {
		t.Errorf("%d IDs, the one that expired first %t, want %d without it", len(s), has, maxEnded)
	}
	if _, has := s[strconv.Itoa(maxEnded-1)]; !has {
		t.Errorf("the last of %d IDs is forgotten", maxEnded)
	}
}

// The IDs of aborted plans are bounded: the one whose plan expires first makes room.
func TestLatchIsBounded(t *testing.T) {
	c, now := newController(t), time.Now()
	c.mu.Lock()
	for i := range maxEnded {
		c.latched.remember(strconv.Itoa(i), now.Add(time.Duration(i-maxEnded)*time.Second))
	}
	c.mu.Unlock()
	if err := c.Apply(mustParse(t, idle, "id: aborted")); err != nil {
		t.Fatal(err)
	}
	c.run.Load().EndFor(engine.OpenedError("too slow"))
	c.StopPlan("enough")
	c.mu.Lock()
	n := len(c.latched)
	c.mu.Unlock()
	if n != maxEnded {
		t.Errorf("%d IDs are latched, want %d", n, maxEnded)
	}
	for id, want := range map[string]error{"0": nil, "1": ErrEnded, "aborted": ErrEnded} {
		if err := c.Check(mustParse(t, idle, "id: \""+id+"\"")); !errors.Is(err, want) {
			t.Errorf("Check of id %s = %v, want %v", id, err, want)
		}
	}
}

// TestLatchOutlivesTheSource: an aborted ID stays aborted, even if its source begins anew.
func TestLatchOutlivesTheSource(t *testing.T) {
	c := newController(t)
	if err := c.ApplyFrom(Source{Name: "one"}, mustParse(t, idle)); err != nil {
		t.Fatal(err)
	}
	c.run.Load().EndFor(engine.OpenedError("too slow"))
	c.StopPlanFrom(Source{Name: "one"}, "there is none")
	for _, source := range []string{"one", "two"} {
		if err := c.ApplyFrom(Source{Name: source}, mustParse(t, idle, "seed: 5")); !errors.Is(err, ErrEnded) {
			t.Errorf("ApplyFrom of %q = %v, want ErrEnded", source, err)
		}
	}
}
