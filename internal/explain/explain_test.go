package explain

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/causal/profile"
)

// document is a plan of ten minutes, with more keys behind it.
func document(more ...string) string {
	return fmt.Sprintf(`api: causal/v1
id: p1
generation: 7
author: ann
expires_at: %s
target: {service: shop, instances: {percent: 5}}
regions:
  - span: "SELECT *"
  - auto: 2
progress:
  - {span: POST /orders, type: throughput}
%s`, time.Now().Add(10*time.Minute).UTC().Format(time.RFC3339), strings.Join(more, "\n"))
}

func parsed(t *testing.T, more ...string) *plan.Plan {
	t.Helper()
	p, err := plan.Parse([]byte(document(more...)))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPlan(t *testing.T) {
	p := parsed(t, "limits: {total: 20s, duty: 50%}")
	now := p.ExpiresAt.Add(-10 * time.Minute)
	e := Plan(p, DefaultCaps(), now)
	// Three regions at two levels, and two arms of five without delay.
	if e.Regions != 3 || e.Round != 10 || e.LastsNs != int64(10*time.Minute) || e.Most != 1328 || e.Least != 9 {
		t.Errorf("regions %d, round %d, lasts %v, from %d to %d experiments", e.Regions, e.Round, time.Duration(e.LastsNs), e.Least, e.Most)
	}
	if e.Limits.Duty != 0.05 || time.Duration(e.Limits.Total) != 20*time.Second {
		t.Errorf("limits %+v: want the smaller of the plan's and the caps", e.Limits)
	}
	if diff := cmp.Diff([]string{}, e.Warnings); diff != "" {
		t.Errorf("warnings of a plan that names everything, -want +got:\n%s", diff)
	}
	if got, want := e.Cost(), "delays at most 20s in total within 10m0s, in each process, and takes at most 3 % of the throughput in the mean"; got != want {
		t.Errorf("Cost() = %q, want %q", got, want)
	}
	var text strings.Builder
	if err := e.Write(&text); err != nil {
		t.Fatal(err)
	}
	for _, l := range e.Lines() {
		if !strings.Contains(text.String(), l.Text) {
			t.Errorf("the table lacks the line %q", l.Text)
		}
	}
	for _, want := range []string{
		"who          5% of the instances of service shop, chosen by the plan's id\n",
		"examines     spans SELECT *\n             the 2 regions with the most self time",
		"50ms per second and processor (the plan asks for 50%: the cap counts)\n",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, text.String())
		}
	}
}

func TestWarnings(t *testing.T) {
	p, err := plan.Parse(fmt.Appendf(nil, `{"api":"causal/v1","id":"x","expires_at":%q,"mode":"dilation","regions":[{"span":"*"}],
"progress":[{"span":"a","type":"throughput"}],"timing":{"experiment":"5m","max_experiment":"5m"},"abort":{"p99_ratio":3,"err_delta":"6%%"}}`,
		time.Now().Add(59*time.Minute).UTC().Format(time.RFC3339)))
	if err != nil {
		t.Fatal(err)
	}
	caps := DefaultCaps()
	caps.Breaker.P99Ratio, caps.Breaker.ErrDelta = 1000, 1
	e := Plan(p, caps, time.Now())
	lines := e.Lines()
	if got := lines[len(lines)-1].Text; got != e.Warnings[len(e.Warnings)-1] {
		t.Errorf("the last line is %q, want the last warning", got)
	}
	for i, want := range []string{
		"target.service", "target.instances.percent", "at a speed-up of 50 each takes 100% longer", "matches every span", "it lasts 5",
		"a number takes 6 samples", "generation", "author", "abort.p99_ratio 3", "abort.err_delta 6%",
	} {
		if i >= len(e.Warnings) || !strings.Contains(e.Warnings[i], want) {
			t.Errorf("warning %d does not tell of %q: %q", i, want, e.Warnings)
		}
	}
}

// Of a plan by the clock an experiment is an epoch, and most epochs are rest: by default 3 % of the
// throughput is lost, of 12 % where none were.
func TestByClock(t *testing.T) {
	text := strings.Replace(document("timing: {epoch: 5s}"), "  - span: \"SELECT *\"\n  - auto: 2\n", "  - {scope: stock, span: SELECT items}\n", 1)
	p, err := plan.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	e := Plan(p, DefaultCaps(), p.ExpiresAt.Add(-10*time.Minute))
	var table strings.Builder
	if err := e.Write(&table); err != nil {
		t.Fatal(err)
	}
	if e.Round != 3 || e.Most != 30 || e.Least != 30 || !strings.Contains(table.String(), "  30 fit: each in an epoch of 5s, and in others all processes rest\n") {
		t.Errorf("round %d, from %d to %d experiments, want 3 and 30:\n%s", e.Round, e.Least, e.Most, table.String())
	}
}

// All instances are warned of whether the plan says so or says nothing.
func TestWarnsOfAllInstances(t *testing.T) {
	for in, want := range map[string]string{
		"":                            "target.instances.percent is not set: all instances",
		", instances: {percent: 100}": "target.instances.percent is 100: all instances",
		", instances: {percent: 99}":  "",
	} {
		p, err := plan.Parse([]byte(strings.ReplaceAll(document(), ", instances: {percent: 5}", in)))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(Plan(p, DefaultCaps(), time.Now()).Warnings, "\n"); (got != "") != (want != "") || !strings.HasPrefix(got, want) {
			t.Errorf("target %q: warnings %q, want %q", in, got, want)
		}
	}
}

// The program's caps on the breaker count, and are explained.
func TestBreakerCaps(t *testing.T) {
	p := parsed(t, "abort: {p99_ratio: 1000, err_delta: 1%, window: 10m, min_samples: 5000}")
	var text strings.Builder
	if err := Plan(p, DefaultCaps(), time.Now()).Write(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"is 2 times what it was (the plan asks for 1000: the cap counts),",
		"or 1% more of them fail:",
		"over 1m0s (the plan asks for 10m0s: the cap counts), from 1000 requests on (the plan asks for 5000: the cap counts)",
		"caps of the programs: 2 times, 5% more, 1m0s, 1000 requests",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, text.String())
		}
	}
}

// What the programs do not allow is reported.
func TestAllowed(t *testing.T) {
	p, caps := parsed(t), DefaultCaps()
	caps.Allowed.Speedup, caps.Allowed.Life = 10, plan.Duration(time.Minute)
	var text strings.Builder
	e := Plan(p, caps, time.Now())
	if err := e.Write(&text); err != nil {
		t.Fatal(err)
	}
	if want := "speed-ups of 0%, 10% (the plan asks for 0%, 10%, 25%, 50%: the cap counts)"; !strings.Contains(text.String(), want) || e.LastsNs != int64(time.Minute) {
		t.Errorf("it lasts %v, and the table lacks %q:\n%s", time.Duration(e.LastsNs), want, text.String())
	}
	caps.Allowed.Modes = []profile.Mode{profile.ModeDilation}
	if got := Plan(p, caps, time.Now()).Warnings[0]; got != "programs with these caps refuse it: mode slowdown: the program allows [dilation] only" {
		t.Errorf("the first warning is %q", got)
	}
}
