package profile

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelprof/otelprof/internal/naming"
	"github.com/otelprof/otelprof/internal/naming/withheldcode"
	"github.com/otelprof/otelprof/internal/stats"
	"github.com/otelprof/otelprof/internal/testutil/golden"
)

// hostile is a span name that each format must escape.
const hostile = "GET <script>&\"'\t\nx=\x00\xff"

// newCurve returns a curve that has no effects yet.
func newCurve(mode Mode, region Region, progress string, metric Metric, base time.Duration) Curve {
	return Curve{Mode: mode, Region: region, Progress: progress, Metric: metric, BasePeriod: base}
}

func sampleProfile() Profile {
	started := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	p := Profile{
		Mode: ModeDilation, PlanID: "plan-1", PlanHash: "0123", Generation: 7,
		Started: started, Ended: started.Add(10 * time.Minute),
		Iterations: 8, Experiments: 104, Rejected: 2, Delay: 12345678 * time.Microsecond,
		Curves: []Curve{
			{
				Region: Region{Scope: "shop", Name: "price"}, Progress: "checkout", BasePeriod: 20 * time.Millisecond,
				Effects: []Effect{
					{Speedup: 0.1, Reduction: 0.0625, StdErr: 0.004, Lo: 0.05, Hi: 0.07, ThroughputGain: stats.Gain(0.0625), Samples: 8, Outliers: 1},
					{Speedup: 0.125, Reduction: 0.08, StdErr: 0.004, Lo: 0.07, Hi: 0.09, ThroughputGain: stats.Gain(0.08), Samples: 8},
					{Speedup: 0.5, Reduction: 0.3125, StdErr: 0.011, Lo: 0.29, Hi: 0.33, ThroughputGain: stats.Gain(0.3125), Samples: 8},
				},
			},
			{
				Region: Region{Name: hostile}, Progress: "checkout", BasePeriod: 20 * time.Millisecond,
				Effects: []Effect{
					{Speedup: 0.1, Reduction: -0.01, StdErr: 0.02, Lo: -0.05, Hi: 0.03, ThroughputGain: stats.Gain(-0.01), Samples: 5, Warnings: []string{"the interval assumes a normal distribution: fewer than 6 iterations that are no outliers"}},
					{Speedup: 0.125, Samples: 2, Withheld: Withheld{Code: withheldcode.Iterations, Count: 2, Need: 5}},
					{Speedup: 0.5, Samples: 2, Withheld: Withheld{Code: withheldcode.Iterations, Count: 2, Need: 5}},
				},
			},
			{
				Region: Region{Scope: "shop", Name: "audit"}, Progress: "checkout", BasePeriod: 20 * time.Millisecond,
				Effects: []Effect{
					{Speedup: 0.1, Samples: 0, Withheld: Withheld{Code: withheldcode.Iterations, Need: 5}},
				},
			},
		},
		Notes: []string{"3 delays withheld by deadline"},
	}
	for i := range p.Curves {
		p.Curves[i].Mode, p.Curves[i].Metric = ModeDilation, MetricThroughput
	}
	p.Finish()
	return p
}

// bothModes is a profile in which replay agrees with the experiments on one region and
// does not on another, and knows latencies as well.
func bothModes() Profile {
	p := sampleProfile()
	p.Mode = ModeOverlap
	for i := range p.Curves {
		p.Curves[i].Mode = ModeOverlap
	}
	price := newCurve(ModeReplay, Region{Scope: "shop", Name: "price"}, "checkout", MetricThroughput, 20*time.Millisecond)
	price.Effects = []Effect{
		{Speedup: 0.1, Reduction: 0.061, Lo: 0.058, Hi: 0.064, ThroughputGain: stats.Gain(0.061), Samples: 40},
		{Speedup: 0.5, Reduction: 0.45, Lo: 0.44, Hi: 0.46, ThroughputGain: stats.Gain(0.45), Samples: 40},
	}
	latency := newCurve(ModeReplay, price.Region, "checkout", MetricLatencyP99, 80*time.Millisecond)
	latency.Effects = []Effect{{Speedup: 0.25, Reduction: 0.2, Lo: 0.15, Hi: 0.26, Samples: 12}}
	p.Curves = append(p.Curves, price, latency)
	p.Finish()
	return p
}

func render(t *testing.T, write func(io.Writer) error) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestProfileWriteTable(t *testing.T) {
	golden.Check(t, "table.txt", render(t, sampleProfile().WriteTable))
}

func TestProfileWriteTableOfBothModes(t *testing.T) {
	golden.Check(t, "table_modes.txt", render(t, bothModes().WriteTable))
}

func TestProfileWriteTableEmpty(t *testing.T) {
	want := "causal profile: nothing was measured\nnote: under load recordings answer within a minute, without a plan\n"
	if got := string(render(t, Profile{}.WriteTable)); got != want {
		t.Errorf("WriteTable before any plan = %q, want %q", got, want)
	}
}

func TestProfileTitle(t *testing.T) {
	for want, p := range map[string]Profile{
		"nothing was measured":                                                 {},
		"recordings, simulated; nothing is delayed":                            {Curves: []Curve{{Mode: ModeReplay}, {Mode: ModeReplay}}},
		"plan p, 1 iteration, 1 experiment (0 rejected), 0s of delay inserted": {PlanID: "p", Iterations: 1, Experiments: 1},
	} {
		if got := p.title(); got != want {
			t.Errorf("title() = %q, want %q", got, want)
		}
	}
}

// TestProfileOfReplay has a curve from recordings beside that of experiments, which it agrees with.
func TestProfileOfReplay(t *testing.T) {
	p := bothModes()
	p.Curves = slices.DeleteFunc(p.Curves, func(c Curve) bool { return c.Mode == ModeReplay })
	price := p.Curves[0]
	replay := newCurve(ModeReplay, price.Region, price.Progress, price.Metric, price.BasePeriod)
	for _, speedup := range []float64{0.1, 0.5} {
		replay.Effects = append(replay.Effects, Effect{
			Speedup: speedup, Reduction: 0.6 * speedup, Lo: 0.58 * speedup, Hi: 0.62 * speedup, Samples: 5,
			Reductions: []float64{0.59 * speedup, 0.6 * speedup, 0.6 * speedup, 0.6 * speedup, 0.61 * speedup},
		})
	}
	p.Curves = append(p.Curves, replay)
	p.Finish()
	var modes []Mode
	for _, c := range p.Curves {
		if c.question() == price.question() {
			modes = append(modes, c.Mode)
		}
	}
	if diff := cmp.Diff([]Mode{ModeOverlap, ModeReplay}, modes); diff != "" {
		t.Errorf("modes, in the order in which to believe them (-want +got):\n%s", diff)
	}
	if c := p.Curves[1]; c.Verdict != VerdictHelps || !c.Significant {
		t.Errorf("verdict %q, significant %t, want %q, true", c.Verdict, c.Significant, VerdictHelps)
	}
	if table := string(render(t, p.WriteTable)); !strings.Contains(table, "replay   6.0 (5.8 .. 6.2)") {
		t.Errorf("table:\n%s\nwant the curve from recordings in it", table)
	}
	if picture := string(render(t, p.WriteSVG)); !strings.Contains(picture, "price → checkout (replay)") {
		t.Error("the picture lacks the curve from recordings")
	}
	read, err := Read(bytes.NewReader(render(t, p.WriteJSON)))
	if err != nil {
		t.Fatal(err)
	}
	merged := Merge(read, read)
	i := slices.IndexFunc(merged.Curves, func(c Curve) bool { return c.Mode == ModeReplay })
	if i < 0 || merged.Curves[i].Effects[1].Samples != 10 {
		t.Errorf("merged curves %+v, want the one from recordings with twice the samples", merged.Curves)
	}
}

func TestProfileWriteJSON(t *testing.T) {
	p := sampleProfile()
	var got Profile
	if err := json.Unmarshal(render(t, p.WriteJSON), &got); err != nil {
		t.Fatal(err)
	}
	p.Curves[1].Region.Name = strings.ToValidUTF8(hostile, "\ufffd") // as encoding/json does
	if diff := cmp.Diff(p, got); diff != "" {
		t.Errorf("WriteJSON, read back, differs, -want +got:\n%s", diff)
	}
	// Every number must be one that JSON has, also of few and strange samples.
	for _, values := range [][]float64{{1, 1, 1}, {-5, 2, 9}, {1, 1, 1e9}, {-1e9, 0.5, 1, 0.5}, {0, 0, 0, 0, 0, 0}} {
		p := Profile{Curves: []Curve{{Effects: []Effect{NewEffect(0.5, values, nil)}}}}
		if err := p.WriteJSON(io.Discard); err != nil {
			t.Errorf("WriteJSON with the effect of %v: %v", values, err)
		}
	}
}

func TestProfileWriteSVG(t *testing.T) {
	p := sampleProfile()
	many := Profile{}
	for i := range 9 {
		many.Curves = append(many.Curves, p.Curves[i%3])
	}
	steep := Profile{Curves: []Curve{{Effects: []Effect{{Speedup: 0.8, Reduction: 0.995, Lo: -3, Hi: 1.5, ThroughputGain: stats.Gain(0.995), Samples: 3}}}}}
	for name, p := range map[string]Profile{"three curves": p, "empty": {}, "nine curves": many, "steep": steep, "both modes": bothModes()} {
		text := render(t, p.WriteSVG)
		lines, words := 0, ""
		dec := xml.NewDecoder(bytes.NewReader(text))
		for {
			token, err := dec.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: WriteSVG is not well-formed: %v\n%s", name, err, text)
			}
			switch token := token.(type) {
			case xml.StartElement:
				if token.Name.Local == "script" {
					t.Errorf("%s: WriteSVG lets an element of a name through", name)
				}
				if token.Name.Local == "polyline" {
					lines++
					checkPoints(t, name, token.Attr)
				}
			case xml.CharData:
				words += string(token)
			}
		}
		if lines != len(p.Curves) {
			t.Errorf("%s: %d polylines, want one for each of %d curves", name, lines, len(p.Curves))
		}
		for _, c := range p.Curves {
			// What XML cannot hold is replaced.
			want := strings.NewReplacer("\x00", "\ufffd", "\xff", "\ufffd").Replace(c.Region.Name)
			if !strings.Contains(words, want+" → "+c.Progress) {
				t.Errorf("%s: %q is not in the picture", name, c.Region.Name)
			}
		}
		if empty := strings.Contains(words, "no experiment has been measured yet"); empty != (len(p.Curves) == 0) {
			t.Errorf("%s: it says that there is nothing: %t", name, empty)
		}
		if bytes.Contains(text, []byte("NaN")) || bytes.Contains(text, []byte("Inf")) {
			t.Errorf("%s: WriteSVG has coordinates that are no numbers:\n%s", name, text)
		}
	}
}

// checkPoints fails the test for points outside the axes.
func checkPoints(t *testing.T, name string, attrs []xml.Attr) {
	t.Helper()
	for _, a := range attrs {
		if a.Name.Local != "points" {
			continue
		}
		for point := range strings.FieldsSeq(a.Value) {
			var x, y float64
			if _, err := fmt.Sscanf(point, "%g,%g", &x, &y); err != nil {
				t.Fatalf("%s: point %q: %v", name, point, err)
			}
			if x < svgLeft-0.1 || x > svgWidth-svgRight+0.1 || y < svgTop-0.1 || y > svgHeight-svgBottom+0.1 {
				t.Errorf("%s: point %q lies outside", name, point)
			}
		}
	}
}

func TestProfileWriteCoz(t *testing.T) {
	golden.Check(t, "profile.coz", render(t, sampleProfile().WriteCoz))
}

// The viewer of Coz pools durations and visits by region, point and speed-up, and draws
// (base-x)/base with x = duration/visits. That must be what the profile says.
func TestProfileWriteCozGivesBackTheReductions(t *testing.T) {
	p := sampleProfile()
	type key struct {
		region, point string
		speedup       float64
	}
	duration, visits := map[key]float64{}, map[key]float64{}
	var now key
	var took float64
	for line := range strings.Lines(string(render(t, p.WriteCoz))) {
		kind, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		fields := map[string]string{}
		for field := range strings.SplitSeq(rest, "\t") {
			name, value, ok := strings.Cut(field, "=")
			if !ok {
				t.Fatalf("line %q: field %q has no value", line, field)
			}
			fields[name] = value
		}
		number := func(name string) float64 {
			v, err := strconv.ParseFloat(fields[name], 64)
			if err != nil {
				t.Fatalf("line %q: %s: %v", line, name, err)
			}
			return v
		}
		switch kind {
		case "experiment":
			now = key{region: fields["selected"], speedup: number("speedup")}
			took = number("duration")
			number("selected-samples")
		case "throughput-point":
			now.point = fields["name"]
			duration[now] += took
			visits[now] += number("delta")
		case "startup", "runtime":
			number("time")
		case "samples":
			if fields["location"] == "" || number("count") < 0 {
				t.Errorf("line %q: it must have a location and a count", line)
			}
		default:
			t.Errorf("line %q is of no kind that Coz knows", line)
		}
	}
	effects := 0
	for _, c := range p.Curves {
		region := naming.OneLine(c.Region.Name)
		base := key{region, c.Progress, 0}
		if visits[base] < 5 {
			t.Errorf("%q: %g visits without speed-up, want 5 or more", region, visits[base])
		}
		period := duration[base] / visits[base]
		if math.Abs(period-float64(c.BasePeriod)) > 1 {
			t.Errorf("%q: period %g ns, want %v", region, period, c.BasePeriod)
		}
		for _, e := range c.Effects {
			k := key{region, c.Progress, e.Speedup}
			if !e.Known() {
				if visits[k] != 0 {
					t.Errorf("%+v is in the file, though it is withheld", k)
				}
				continue
			}
			effects++
			if got := (period - duration[k]/visits[k]) / period; !(math.Abs(got-e.Reduction) <= 1e-6) {
				t.Errorf("%+v: reduction %g, want %g", k, got, e.Reduction)
			}
		}
	}
	if want := effects + len(p.Curves); len(visits) != want {
		t.Errorf("%d experiments, want %d", len(visits), want)
	}
}

// failing is a writer that takes n bytes.
type failing int

var errFull = errors.New("full")

func (f *failing) Write(b []byte) (int, error) {
	if len(b) > int(*f) {
		return 0, errFull
	}
	*f -= failing(len(b))
	return len(b), nil
}

func TestProfileWritersReturnErrors(t *testing.T) {
	p := sampleProfile()
	for name, write := range map[string]func(io.Writer) error{"WriteTable": p.WriteTable, "WriteJSON": p.WriteJSON, "WriteSVG": p.WriteSVG, "WriteCoz": p.WriteCoz} {
		size := len(render(t, write))
		for n := 0; n < size; n += 1 + size/20 {
			room := failing(n)
			if err := write(&room); !errors.Is(err, errFull) {
				t.Errorf("%s to a writer that takes %d of %d bytes = %v, want %v", name, n, size, err, errFull)
			}
		}
	}
}
