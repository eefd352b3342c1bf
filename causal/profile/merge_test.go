package profile

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/otelprof/otelprof/internal/stats"
)

// runOf is the profile of a run in which speeding "a" up by a half gave so much.
func runOf(day int, samples ...float64) Profile {
	c := newCurve(ModeOverlap, Region{Name: "a"}, "done", MetricThroughput, time.Duration(day)*time.Millisecond)
	c.Effects = []Effect{NewEffect(0.5, samples, nil)}
	p := Profile{
		Mode: ModeOverlap, PlanID: "p", PlanHash: "h", Started: time.Date(2026, 1, day, 0, 0, 0, 0, time.UTC),
		Iterations: len(samples), Experiments: 3 * len(samples), Delay: time.Second, Curves: []Curve{c},
		Tallies: []Tally{{Mode: ModeOverlap, Speedup: 0.5, Region: Region{Name: "a"}, Progress: "done", Visits: 10, Effective: time.Second, Delay: 3, Delays: 2, Own: 1}},
		Notes:   []string{"a note"},
	}
	p.Finish()
	return p
}

func TestMerge(t *testing.T) {
	early, late := runOf(1, .1, .11, .09), runOf(2, .1, .12, .08, .1)
	got := Merge(late, early)
	e := got.Curves[0].Effects[0]
	if want := NewEffect(0.5, []float64{.1, .11, .09, .1, .12, .08, .1}, nil).judged(MetricThroughput); !cmp.Equal(e, want) {
		t.Errorf("the merged effect is %+v, want %+v", e, want)
	}
	if got.Iterations != 7 || got.Experiments != 21 || got.Delay != 2*time.Second || got.PlanID != "p" || got.PlanHash != "h" || !got.Started.Equal(early.Started) {
		t.Errorf("merged: %+v", got)
	}
	if diff := cmp.Diff([]string{"a note", "merged from 2 profiles"}, got.remarks()); diff != "" {
		t.Errorf("remarks differ, -want +got:\n%s", diff)
	}
	if again := Merge(got, early); again.Merged != 3 {
		t.Errorf("merged once more it is of %d profiles, want 3", again.Merged)
	}
	tallies := []Tally{{Mode: ModeOverlap, Speedup: 0.5, Region: Region{Name: "a"}, Progress: "done", Visits: 20, Effective: 2 * time.Second, Delay: 6, Delays: 4, Own: 2}}
	if diff := cmp.Diff(tallies, got.Tallies); diff != "" {
		t.Errorf("tallies differ, -want +got:\n%s", diff)
	}
	if diff := cmp.Diff(early, Merge(early)); diff != "" {
		t.Errorf("Merge of one profile changes it:\n%s", diff)
	}
	if got := Merge(); len(got.Curves) != 0 {
		t.Errorf("Merge of none: %+v", got)
	}
}

func TestMergeOfDifferentPlans(t *testing.T) {
	a, b := runOf(1, .1, .1, .1, .1, .1, .1), runOf(2, .3, .3, .3, .3, .3, .3)
	b.PlanID, b.PlanHash, b.Mode = "q", "i", ModeDilation
	other := b.Curves[0]
	other.Mode, other.Region.Name = ModeDilation, "b"
	more := NewEffect(0.25, []float64{.1, .1, .1, .1, .1, .1}, nil)
	b.Curves = append(b.Curves, other)
	b.Curves[0].Effects = append([]Effect{more}, b.Curves[0].Effects...)
	got := Merge(a, b)
	if got.PlanID != "p, q" || got.PlanHash != "" || got.Mode != "" || len(got.Curves) != 2 {
		t.Errorf("merged: plan %q %q, mode %q, %d curves", got.PlanID, got.PlanHash, got.Mode, len(got.Curves))
	}
	i := slices.IndexFunc(got.Curves, func(c Curve) bool { return c.Region.Name == "a" })
	effects := got.Curves[i].Effects
	if len(effects) != 2 || !cmp.Equal(effects[0], more.judged(MetricThroughput)) {
		t.Fatalf("effects %+v, want the one that only one has as it is", effects)
	}
	if want := []string{"consecutive samples are correlated: the interval may be too narrow", "runs differ: 10.0 (9.0 .. 11.0) and 30.0 (29.0 .. 31.0)"}; !cmp.Equal(effects[1].Warnings, want) {
		t.Errorf("warnings %q, want %q", effects[1].Warnings, want)
	}
}

// Three runs scatter by 2 points each, and are 2 points apart: their mean is less sure than that of
// thirty samples of one run.
func TestMergeOfRunsThatDiffer(t *testing.T) {
	around := func(center float64) []float64 { return slices.Repeat([]float64{center - .02, center + .02}, 5) }
	e := Merge(runOf(1, around(.1)...), runOf(2, around(.12)...), runOf(3, around(.14)...)).Curves[0].Effects[0]
	// By DerSimonian and Laird 3.56e-4 is between runs, beside 4.44e-5 of each, so that the interval
	// is Student's of 2.5 degrees of freedom.
	if !cmp.Equal(e.StdErr, 0.01155, cmpopts.EquateApprox(0, 1e-4)) || e.Hi-e.Lo < 6*e.StdErr+2*stats.ModelError || !cmp.Equal(e.Reduction, (e.Lo+e.Hi)/2, cmpopts.EquateApprox(0, 1e-9)) {
		t.Errorf("%.4f ± %.4f (%.4f to %.4f), want a standard error of .0115, and an interval of three and more around the number", e.Reduction, e.StdErr, e.Lo, e.Hi)
	}
}

// What several recordings say of another build is a gain of throughput as what one says.
func TestMergeOfChanges(t *testing.T) {
	of := func(metric Metric) Profile {
		e := Effect{Reduction: 0.5, Lo: 0.4, Hi: 0.6, Samples: 6}
		return Profile{Changes: []Change{{Change: "4 processors", Progress: "done", Metric: metric, Effect: e}}}
	}
	for metric, want := range map[Metric]float64{MetricThroughput: 1, MetricLatencyP50: 0} {
		if e := Merge(of(metric), of(metric)).Changes[0].Effect; e.ThroughputGain != want {
			t.Errorf("%s: half of the time is a gain of throughput of %g, want %g", metric, e.ThroughputGain, want)
		}
	}
}

// One process has spans of a region, the other one does not.
func TestMergeOfUnseen(t *testing.T) {
	a, b := runOf(1, .1, .1, .1, .1, .1, .1), runOf(2, .3, .3, .3, .3, .3, .3)
	other := Region{Name: "nowhere"}
	a.Curves[0].Mode, b.Curves[0].Mode, b.Curves[0].Own = ModeSlowdown, ModeSlowdown, time.Second
	a.Notes = []string{other.Unseen(), a.Curves[0].Region.Unseen()}
	b.Notes = []string{other.Unseen()}
	if diff := cmp.Diff([]string{other.Unseen()}, Merge(a, b).Notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}

func TestMergeOfWithheld(t *testing.T) {
	good, bad := runOf(1, .1, .1, .1, .1, .1, .1), runOf(2, .9, .9, .9, .9, .9, .9)
	bad.Curves[0].Effects[0] = bad.Curves[0].Effects[0].Withhold(told("a reason"))
	e := Merge(good, bad).Curves[0].Effects[0]
	if !cmp.Equal(e.Reduction, 0.1, cmpopts.EquateApprox(0, 1e-6)) || !slices.Contains(e.Warnings, "a run is left out: a reason") {
		t.Errorf("good and bad: %+v", e)
	}
	if e := Merge(bad, bad).Curves[0].Effects[0]; e.Withheld != told("a reason") || e.Reduction != 0 {
		t.Errorf("bad and bad: %+v", e)
	}
	bare := good
	bare.Curves = slices.Clone(good.Curves)
	bare.Curves[0].Effects = []Effect{{Speedup: 0.5, Reduction: 0.1, Samples: 6}}
	if e := Merge(good, bare).Curves[0].Effects[0]; !slices.Contains(e.Warnings, "a run is left out that was saved without its samples") {
		t.Errorf("good and bare: %+v", e)
	}
	if e := Merge(bare, bare).Curves[0].Effects[0]; e.Known() || !strings.Contains(e.Withheld.String(), "saved without their samples") {
		t.Errorf("bare and bare: %+v, want why there is no number", e)
	}
}

func TestThinned(t *testing.T) {
	many := make([]float64, 1000)
	for i := range many {
		many[i] = float64(i) / 3
	}
	got := stats.Thinned(many)
	if len(got) != stats.MostSamples || got[1] != 1 || !slices.IsSorted(got) || got[stats.MostSamples-1] < 330 {
		t.Errorf("thinned: %d values from %g to %g", len(got), got[0], got[len(got)-1])
	}
	if got := stats.Thinned([]float64{1. / 3}); got[0] != 0.333333 {
		t.Errorf("stats.Thinned(1/3) = %g, want six digits", got[0])
	}
}

func TestRead(t *testing.T) {
	for name, p := range map[string]Profile{"sample": sampleProfile(), "empty": {}, "merged": Merge(runOf(1, .1, .2), runOf(2, .1, .2, .15))} {
		if name == "sample" {
			p.Curves[1].Region.Name = "other" // JSON does not keep what is no UTF-8
		}
		text := render(t, p.WriteJSON)
		got, err := Read(bytes.NewReader(text))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if again := render(t, got.WriteJSON); !bytes.Equal(text, again) {
			t.Errorf("%s: written, read and written again it differs:\n%s", name, cmp.Diff(string(text), string(again)))
		}
	}
}

func TestReadRefuses(t *testing.T) {
	effect := func(fields string) string {
		return `{"api":"causal-profile/v1","curves":[{"mode":"replay","metric":"throughput","effects":[{` + fields + `}]}]}`
	}
	for _, tt := range []struct{ doc, want string }{
		{"", "must be JSON: byte 0: unexpected end of JSON input"},
		{"span\tmode", "must be JSON: byte 1: invalid character 's' looking for beginning of value"},
		{`{"api":"causal-profile/v1"}{}`, "must be JSON: byte 28: invalid character '{' after top-level value"},
		{"[1]", "array: must be an object"},
		{"{}", "it has no key api: must be one saved by this program"},
		{`{"api":"causal/v1","id":"a plan"}`, `api "causal/v1": must be "causal-profile/v1"`},
		{`{"api":"causal-profile/v9"}`, `api "causal-profile/v9": must be "causal-profile/v1"`},
		{`{"api":7}`, "api: must not be number"},
		{`{"api":"causal-profile/v1","iterations":"many"}`, "iterations: must not be string"},
		{`{"api":"causal-profile/v1","iterations":-1}`, "iterations, experiments, rejected and delay_ns: must not be negative"},
		{`{"api":"causal-profile/v1","curves":[{"mode":"magic"}]}`, "curves[0].mode \"magic\": must be \"slowdown\", \"overlap\", \"dilation\" or \"replay\"\ncausal: profile: curves[0].metric: must not be empty"},
		{`{"api":"causal-profile/v1","tallies":[{"speedup":2,"own_ns":-1}]}`, "tallies[0].speedup 2: must be in [0, 1]\ncausal: profile: tallies[0]: must have no negative number"},
		{`{"api":"causal-profile/v1","epochs":[{"epoch":-1}]}`, "epochs[0].epoch -1: must not be negative"},
		{effect(`"speedup":2`), "curves[0].effects[0].speedup 2: must be in (0, 1]"},
		{effect(`"speedup":0.5},{"speedup":0.5`), "curves[0].effects[1].speedup 0.5: must not be repeated"},
		{effect(`"speedup":0.5,"reduction":0.1`), "curves[0].effects[0].reduction 0.1: must be in [lo, hi], which is [0, 0]"},
		{effect(`"speedup":0.5,"hi":1e300`), "curves[0].effects[0] 1e+300: must be in [-1e+06, 1e+06]"},
		{effect(`"speedup":0.5,"reductions":[1]`), "curves[0].effects[0]: samples, outliers and reductions must be numbers of samples"},
		{effect(`"speedup":1e999`), "curves.effects.speedup: must not be number 1e999"},
	} {
		_, err := Read(strings.NewReader(tt.doc))
		// Since Go 1.27, encoding/json says which element of a list, too.
		if !errors.Is(err, ErrInvalid) || strings.ReplaceAll(err.Error(), ".0.", ".") != "causal: profile: "+tt.want {
			t.Errorf("Read(%s) = %v, want %s", tt.doc, err, tt.want)
		}
	}
	if _, err := Read(endless{}); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "must have at most") {
		t.Errorf("Read of what does not end = %v", err)
	}
	if _, err := Read(io.MultiReader(strings.NewReader("{"), broken{})); !errors.Is(err, errFull) {
		t.Errorf("Read from a broken reader = %v, want its error", err)
	}
}

type endless struct{}

func (endless) Read(b []byte) (int, error) { return len(b), nil }

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errFull }

// All that can be read can be rendered, merged, and read again.
func FuzzRead(f *testing.F) {
	var both bytes.Buffer
	if err := bothModes().WriteJSON(&both); err != nil {
		f.Fatal(err)
	}
	f.Add(both.Bytes())
	f.Add([]byte(`{"api":"causal-profile/v1"}`))
	f.Add([]byte(`{"api":"causal-profile/v1","curves":[{"mode":"replay","metric":"latency_p50","effects":[{"speedup":1,"reduction":1,"lo":-1e6,"hi":1e6,"samples":9,"reductions":[1,2,3,4,5,1e6]}]}]}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		p, err := Read(bytes.NewReader(doc))
		if err != nil {
			return
		}
		for _, p := range []Profile{p, Merge(p, p)} {
			for _, write := range []func(io.Writer) error{p.WriteTable, p.WriteSVG, p.WriteCoz} {
				if err := write(io.Discard); err != nil {
					t.Fatal(err)
				}
			}
			var b bytes.Buffer
			if err := p.WriteJSON(&b); err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(render(&testing.T{}, p.WriteSVG), []byte("NaN")) {
				t.Fatal("the picture has coordinates that are no numbers")
			}
			if _, err := Read(&b); err != nil && b.Len() < maxBytes {
				t.Fatalf("read again: %v", err)
			}
		}
	})
}

// A profile that has many samples stays of bounded size.
func TestProfileSize(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	samples := make([]float64, 2000)
	for i := range samples {
		samples[i] = 0.3 + 0.02*rng.NormFloat64()
	}
	text, err := json.Marshal(NewEffect(0.5, samples, nil))
	if err != nil || len(text) > stats.MostSamples*10+500 {
		t.Errorf("an effect takes %d bytes (%v), want at most 10 for each sample that is kept", len(text), err)
	}
}
