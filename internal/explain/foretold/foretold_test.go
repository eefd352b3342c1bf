package foretold

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelprof/otelprof/causal/profile"
)

var (
	reserve = profile.Region{Scope: "shop", Name: "reserve stock"}
	price   = profile.Region{Scope: "shop", Name: "price cart"}
	orders  = profile.Region{Scope: "http", Name: "POST /orders"}
)

// version is a record of ten minutes with so many orders a second.
func version(name string, perSecond, reserveMs, priceMs, orderMs float64, curves ...Curve) Record {
	const lasted = 10 * time.Minute
	n := uint64(perSecond * lasted.Seconds())
	region := func(of profile.Region, ms, self float64) Measured {
		return Measured{Region: of, Count: n, Mean: ms * 1e6, Self: self * 1e6, P50: ms * 1e6, P90: ms * 1.2e6, P99: ms * 2e6}
	}
	return Record{
		Service: "shop", Version: name, Lasted: lasted, Curves: curves,
		Regions: []Measured{region(reserve, reserveMs, reserveMs), region(price, priceMs, priceMs), region(orders, orderMs, orderMs-reserveMs-priceMs)},
	}
}

// curve foretells a reduction as large as the speed-up, in a closed loop that waits for a lock.
func curve(of profile.Region) Curve {
	return Curve{Region: of, Progress: orders.Name, Metric: profile.MetricThroughput, Effects: []Effect{{0.1, 0.095, 0.05, 0.12}, {0.25, 0.24, 0.18, 0.3}, {0.5, 0.49, 0.4, 0.6}}}
}

func TestOutcomes(t *testing.T) {
	before := version("1.4", 400, 2.5, 0.3, 20, curve(reserve), curve(price))
	for _, tt := range []struct {
		name  string
		after Record
		want  string
	}{
		// 20 % less of 2.5 ms: 500 orders a second, each in 16 ms, eight at a time as before.
		{"held", version("1.5", 500, 2.0, 0.3, 16), held},
		{"missed", version("1.5", 405, 2.0, 0.3, 19.7), missed},
		{"another load", version("1.5", 300, 2.0, 0.3, 5), otherLoad},
		{"others changed", version("1.5", 500, 2.0, 0.6, 16), othersChanged},
		{"others changed by an eighth of that", version("1.5", 500, 2.0, 0.36, 16), held},
		{"next to nothing changed", version("1.5", 404, 2.45, 0.3, 19.8), ""},
		{"slower", version("1.5", 300, 3.5, 0.3, 26), ""},
		{"the same version", version("1.4", 500, 2.0, 0.3, 16), ""},
		{"too short", Record{Service: "shop", Version: "1.5", Lasted: time.Second}, ""},
	} {
		got := Outcomes([]Record{before}, tt.after)
		if tt.want == "" {
			if len(got) != 0 {
				t.Errorf("%s: %+v, want none", tt.name, got)
			}
			continue
		}
		if len(got) != 1 || got[0].Verdict != tt.want || got[0].Region != reserve || got[0].From != "1.4" || got[0].To != "1.5" {
			t.Errorf("%s: %+v, want one that is %s", tt.name, got, tt.want)
		}
	}
	o := Outcomes([]Record{before}, version("1.5", 500, 2.0, 0.3, 16))[0]
	if o.Faster < 0.199 || o.Faster > 0.201 || o.Came < 0.199 || o.Came > 0.201 || o.Foretold < 0.19 || o.Foretold > 0.193 || o.Lo >= o.Foretold || o.Hi <= o.Foretold {
		t.Errorf("outcome %+v", o)
	}
	all := Outcomes([]Record{before, version("1.5", 500, 2.0, 0.3, 16, curve(reserve)), version("1.5", 500, 2.0, 0.3, 16)}, version("1.6", 505, 1.5, 0.3, 15.8))
	if within, of := Calibration(all); len(all) != 2 || all[0].To != "1.6" || within != 1 || of != 2 {
		t.Errorf("%d of %d held of %+v, want the last of two missed", within, of, all)
	}
}

// A process that has just begun does not replace what a longer one of its version has measured.
func TestOutcomesAfterRestart(t *testing.T) {
	records := []Record{version("1.4", 400, 2.5, 0.3, 20, curve(reserve)), version("1.5", 500, 2.0, 0.3, 16)}
	restarted := version("1.5", 450, 2.2, 0.3, 17.8)
	restarted.Lasted = time.Minute
	if diff := cmp.Diff(Outcomes(records[:1], records[1]), Outcomes(records, restarted)); diff != "" {
		t.Errorf("a minute after a restart (-want +got):\n%s", diff)
	}
}

// What was foretold stays as it was, also where the version runs again after the next one.
func TestOutcomesAfterRollback(t *testing.T) {
	records := []Record{version("1.4", 400, 2.5, 0.3, 20, curve(reserve)), version("1.5", 500, 2.0, 0.3, 16)}
	later := curve(reserve)
	later.Effects = []Effect{{0.5, 0.01, 0, 0.02}}
	want := Outcomes(records[:1], records[1])
	for name, got := range map[string][]profile.Outcome{
		"runs":        Outcomes(records, version("1.4", 300, 2.5, 0.3, 26, later)),
		"ran, as 1.5": Outcomes(append(slices.Clone(records), version("1.4", 300, 2.5, 0.3, 26, later)), records[1]),
	} {
		if diff := cmp.Diff(want, got); diff != "" || len(want) != 1 {
			t.Errorf("1.4 %s again (-want +got):\n%s", name, diff)
		}
	}
}

// Records are added to a file, and what is damaged or of another service is left out.
func TestFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), FileName)
	if got, err := Read(name, "shop"); got != nil || err != nil {
		t.Errorf("without a file: %v, %v", got, err)
	}
	one, two := version("1", 1, 1, 1, 9, curve(reserve)), version("2", 1, 1, 1, 9)
	other := version("1", 1, 1, 1, 9)
	other.Service = "other"
	for _, r := range []Record{one, other, two} {
		if err := Append(name, r); err != nil {
			t.Fatal(err)
		}
	}
	f, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"api":"causal-foretold/v9","service":"shop"}` + "\n" + `{"api":"causal-foretold/v1","serv`); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := Read(name, "shop")
	one.API, two.API = api, api
	if diff := cmp.Diff([]Record{one, two}, got); err != nil || diff != "" {
		t.Errorf("%v, records (-want +got):\n%s", err, diff)
	}
	if err := os.Truncate(name, MaxBytes); err != nil {
		t.Fatal(err)
	}
	if err := Append(name, one); err == nil || !strings.Contains(err.Error(), "at most 16777216 bytes") {
		t.Errorf("a full file: %v", err)
	}
	if err := Append(filepath.Join(name, "x"), one); err == nil {
		t.Error("a file below a file: no error")
	}
}

// Behind a line that is too long there are further records.
func TestReadBehindALongLine(t *testing.T) {
	name := filepath.Join(t.TempDir(), FileName)
	one, two := version("1", 1, 1, 1, 9, curve(reserve)), version("2", 1, 1, 1, 9)
	if err := Append(name, one); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(strings.Repeat("x", 2*maxLine)); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := Append(name, two); err != nil {
		t.Fatal(err)
	}
	got, err := Read(name, "shop")
	one.API, two.API = api, api
	if diff := cmp.Diff([]Record{one, two}, got); err != nil || diff != "" {
		t.Errorf("%v, records (-want +got):\n%s", err, diff)
	}
}

func TestCurvesOf(t *testing.T) {
	known := profile.Effect{Speedup: 0.1, Reduction: 0.09, Lo: 0.08, Hi: 0.1, Samples: 9}
	unknown := profile.Effect{Speedup: 0.25}.Withhold(profile.Withheld{Code: "windows"})
	p := profile.Profile{Curves: []profile.Curve{
		{Region: reserve, Progress: orders.Name, Metric: profile.MetricThroughput, Effects: []profile.Effect{known, unknown}},
		{Region: reserve, Progress: orders.Name, Metric: profile.MetricThroughput, Mode: profile.ModeReplay, Effects: []profile.Effect{known}},
		{Region: price, Progress: orders.Name, Metric: profile.MetricThroughput, Effects: []profile.Effect{unknown}},
		{Region: orders, Progress: orders.Name, Metric: profile.MetricThroughput, Effects: []profile.Effect{known}},
	}}
	want := []Curve{{reserve, orders.Name, profile.MetricThroughput, []Effect{{0.1, 0.09, 0.08, 0.1}}}}
	if diff := cmp.Diff(want, CurvesOf(p)); diff != "" {
		t.Errorf("curves (-want +got):\n%s", diff)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`{"api":"causal-foretold/v1","service":"shop","regions":[{"count":1}]}` + "\n\n{")
	f.Fuzz(func(t *testing.T, text string) {
		records, _ := parse(strings.NewReader(text), "shop")
		Outcomes(records, Record{Lasted: time.Hour, Version: "x"})
	})
}
