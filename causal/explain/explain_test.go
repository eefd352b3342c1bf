package explain

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelprof/otelprof/causal"
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

func parsed(t *testing.T, more ...string) *causal.Plan {
	t.Helper()
	p, err := causal.ParsePlan([]byte(document(more...)))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPlan(t *testing.T) {
	p := parsed(t, "limits: {total: 20s, duty: 50%}")
	now := p.ExpiresAt.Add(-10 * time.Minute)
	e := Plan(p, causal.DefaultLimits(), now)
	// Three regions at three speed-ups, and two arms of five without delay.
	if e.Regions != 3 || e.Round != 15 || e.LastsNs != int64(10*time.Minute) || e.Most != 271 || e.Least != 9 {
		t.Errorf("regions %d, round %d, lasts %v, from %d to %d experiments", e.Regions, e.Round, time.Duration(e.LastsNs), e.Least, e.Most)
	}
	if e.Limits.Duty != 0.05 || time.Duration(e.Limits.Total) != 20*time.Second {
		t.Errorf("limits %+v: want the smaller of the plan's and the caps", e.Limits)
	}
	if diff := cmp.Diff([]string{}, e.Warnings); diff != "" {
		t.Errorf("warnings of a plan that names everything, -want +got:\n%s", diff)
	}
	if got, want := e.Cost(), "delays at most 20s in total within 10m0s, in each process"; got != want {
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
	p, err := causal.ParsePlan(fmt.Appendf(nil, `{"api":"causal/v1","id":"x","expires_at":%q,"mode":"dilation","regions":[{"span":"*"}],
"progress":[{"span":"a","type":"throughput"}],"timing":{"experiment":"5m","max_experiment":"5m"},"abort":{"p99_ratio":3,"err_delta":"6%%"}}`,
		time.Now().Add(59*time.Minute).UTC().Format(time.RFC3339)))
	if err != nil {
		t.Fatal(err)
	}
	e := Plan(p, causal.DefaultLimits(), time.Now())
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

// Each problem stands at its field, in words that name it, the value and the constraint.
func TestProblems(t *testing.T) {
	for _, tt := range []struct {
		document string
		want     []Problem
	}{
		{document("limits:", "  per_span: 5ms", "  duty: 150%"), []Problem{{14, "limits.duty", "limits.duty 150%: must be in (0%, 100%]"}}},
		{document("limit: 3"), []Problem{{12, "limit", ""}}},
		{document("grid: {speedups: [10, 99]}"), []Problem{{12, "grid.speedups[1]", "grid.speedups[1] 99: must be a percentage in [0, 80]"}}},
		{strings.Replace(document(), "throughput", "speed", 1), []Problem{{11, "progress[0].type", `progress[0].type "speed": must be "throughput" or "latency"`}}},
		{strings.Replace(document(), "id: p1", "id: [", 1), []Problem{{0, "", ""}}},
		{strings.Replace(document(), "id: p1\n", "", 1), []Problem{{0, "id", `id "": must have 1 to 128 characters`}}},
		{document("seed: x", "timing: {warmup: soon}"), []Problem{{12, "seed", "seed: x: must be a whole number"}, {13, "timing.warmup", `timing.warmup: duration "soon": must be like 200ms, 2s or 1m30s`}}},
		{"", []Problem{{0, "", "the document is empty"}}},
	} {
		_, err := causal.ParsePlan([]byte(tt.document))
		got := Problems([]byte(tt.document), err)
		for i := range min(len(got), len(tt.want)) {
			if tt.want[i].Text == "" { // said by another package
				tt.want[i].Text = got[i].Text
			}
			if tt.want[i].Field == "" && tt.want[i].Line == 0 {
				tt.want[i].Line = got[i].Line
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("problems of %v differ, -want +got:\n%s", err, diff)
		}
	}
	if got := Problems(nil, nil); got != nil {
		t.Errorf("problems without an error: %v", got)
	}
	if got := Problems([]byte("]"), errors.New("Oh: no")); len(got) != 1 || got[0].Field != "" || got[0].Text != "Oh: no" {
		t.Errorf("problems of another error: %+v", got)
	}
}

// Whatever the document, each error of the parser is one problem, on one of its lines.
func FuzzProblems(f *testing.F) {
	f.Add(document("limits: {duty: 150%}"))
	f.Add("{")
	f.Add("regions: [1, {span: &a x}, *a]")
	f.Add("a.b[3]: x")
	f.Fuzz(func(t *testing.T, text string) {
		_, err := causal.ParsePlan([]byte(text))
		problems := Problems([]byte(text), err)
		if (err == nil) != (len(problems) == 0) {
			t.Fatalf("%d problems of %v", len(problems), err)
		}
		for _, p := range problems {
			if p.Line < 0 || p.Text == "" || !strings.Contains(p.Text, p.Field) {
				t.Errorf("problem %+v of %v", p, err)
			}
		}
	})
}
