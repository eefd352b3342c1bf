package profile

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelprof/otelprof/internal/naming/withheldcode"
)

// told is a reason without a code.
func told(text string) Withheld { return Withheld{Code: withheldcode.Other, Text: text} }

// Each code has a sentence, which JSON carries beside the facts and no reader needs.
func TestWithheld(t *testing.T) {
	for _, tt := range []struct {
		w    Withheld
		want string
	}{
		{Withheld{Code: withheldcode.Iterations, Count: 1, Need: 5}, "1 iteration measured, 5 are needed"},
		{Withheld{
			Code: withheldcode.Iterations, Count: 1, Need: 5,
			Measured: Measured{Visits: 12, Elapsed: 10 * time.Second, Spans: 3, Inserted: 10 * time.Millisecond, Owed: 10 * time.Millisecond, Rejected: 2},
		}, "1 iteration measured, 5 are needed (12 visits of the progress point in 10s, 3 spans of the region, 10ms of 10ms delay inserted, 2 experiments thrown away)"},
		{Withheld{Code: withheldcode.Iterations, Need: 5, Measured: Measured{Visits: 1, Elapsed: time.Second, Spans: -1}}, "0 iterations measured, 5 are needed (1 visit of the progress point in 1s)"},
		{Withheld{Code: withheldcode.StartedAs, Name: "GET"}, `spans of the region are started as "GET", as others are, and what they are is known when they end: name them at their start`},
		{Withheld{Code: withheldcode.NoSpans}, "the region did not run in the experiments"},
		{Withheld{Code: withheldcode.FewSpans, Count: 49, Of: 10, Need: 5}, "the region ended 49 times in 10 experiments, 5 in each are needed: make them longer by timing.experiment"},
		{Withheld{Code: withheldcode.Elsewhere, Took: 10 * time.Second, Saved: 40 * time.Millisecond, Elapsed: 20 * time.Second}, "the region's spans took 10s of 20s, and saved the program 40ms: its spans were not where the experiment looked for them"},
		{Withheld{Code: withheldcode.OtherPath, Part: 0.25}, "the progress point was visited by another path: 25 % of its visits came from other spans than without delay"},
		{Withheld{Code: withheldcode.CallsItself, Count: 11, Of: 1000}, "the process has called itself over connections, 11 times for 1000 visits of the progress point, and what is owed does not pass along those exactly: ask recordings, which need no plan (otelprof whatif, mode replay), or give what it calls a process of its own"},
		{Withheld{Code: withheldcode.WaitsBefore, Count: 10, Of: 900}, "10 of 900 requests from the network waited for a lock or another goroutine before their first spans began, and what they owed for the network is not paid before that: begin a span where the request is read"},
		{Withheld{Code: withheldcode.UnknownWaits, Part: 0.5}, "in the warm-up 50 % of the waiting was for goroutines whose locks and channels are not recorded, since they are Go's own: build with otelprof, or use causal.Mutex, causal.Chan and the like"},
		{Withheld{Code: withheldcode.Saturated, Part: 0.63}, "processors were short for 63 % of the time, and who waits for one is seen by no span: measure at less load, or build with otelprof build"},
		{Withheld{Code: withheldcode.Throttled, Part: 0.3}, "a quota (cpu.max of the cgroup) took 30 % of the processor time in the experiments: raise it, or lower GOMAXPROCS to it"},
		{Withheld{Code: withheldcode.Stolen, Part: 0.12}, "the host of the virtual machine took 12 % of the processor time in the experiments: measure where no others have its processors"},
		{Withheld{Code: withheldcode.NotInserted, Part: 0.62}, "only 62 % of the delays could be inserted: the rules that withheld them say which limit to raise"},
		{Withheld{Code: withheldcode.Owed, Part: 0.018}, "1.8 % of the delays had not been inserted by the end, more than 1 %: ask for smaller speed-ups, or raise limits.per_span"},
		{Withheld{Code: withheldcode.Stretched, Part: 2.4}, "stretching all spans by x makes the period 2.4 x longer: they wait, for others or for processors, and their waits are stretched with them: wrap waits for others in causal.Blocked; where processors are short ask recordings (mode replay)"},
		{Withheld{Code: withheldcode.Unattributed, Part: 0.5}, "it is not known what ended 50 % of the waiting: use causal.Mutex and the like, or causal.Blocked"},
		{Withheld{Code: withheldcode.SelfCheck, Count: 5, Of: 20}, "self-check failed: of 20 intervals made from arms without any delay, 5 leave out 0: measure while the load is steady, or longer by timing.experiment"},
		{Withheld{Code: withheldcode.Windows, Count: 1, Need: 5}, "1 recorded window measured, 5 are needed"},
		{Withheld{Code: withheldcode.Deviation, Part: 0.03}, "simulated with nothing changed, the program is not within 3 % of what was recorded"},
		{Withheld{Code: withheldcode.Deviation, Count: 11, Of: 18, Part: 0.05}, "simulated with nothing changed, 11 of 18 windows missed what was recorded by more than 3 %, all by 5.0 % in the mean"},
		{Withheld{Code: withheldcode.Stuck}, "simulated, the program came to where nothing could go on"},
		{Withheld{Code: withheldcode.Visits}, "too few visits of the progress point in most recordings"},
		{Withheld{Code: withheldcode.Slower}, "simulated with a region faster, the program became much slower: it is not known well enough what waits for what"},
		{Withheld{Code: withheldcode.Starved}, "goroutines had no processor for more than a tenth of the time that they ran: other programs, a quota or the host of the virtual machine took it"},
		{Withheld{Code: withheldcode.Choices}, "select statements or timeouts would end in ways of which the recordings have no example"},
		{Withheld{Code: withheldcode.Bounds}, "its bounds are not among the metrics"},
		{Withheld{Code: withheldcode.Other, Text: "the moon is full"}, "the moon is full"},
		{Withheld{Code: "of a later version", Text: "it is late", Count: 7}, "it is late"},
		{Withheld{Code: "of a later version"}, "no number"},
	} {
		if got := tt.w.String(); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.w, got, tt.want)
		}
		text, err := json.Marshal(tt.w)
		if err != nil {
			t.Fatal(err)
		}
		var shown struct{ Code, Text string }
		if err := json.Unmarshal(text, &shown); err != nil || shown.Code != string(tt.w.Code) || shown.Text != tt.want {
			t.Errorf("JSON %s, want the code and %q", text, tt.want)
		}
		reworded := strings.Replace(string(text), tt.want, "in other words", 1)
		var got Withheld
		if err := json.Unmarshal([]byte(reworded), &got); err != nil {
			t.Fatal(err)
		}
		if tt.w.sentence() == "" {
			got.Text = tt.w.Text // the text is all there is
		}
		if diff := cmp.Diff(tt.w, got); diff != "" {
			t.Errorf("%s reworded is read otherwise, -want +got:\n%s", text, diff)
		}
	}
}

// Profiles were saved with the sentence alone once.
func TestWithheldOfOldProfiles(t *testing.T) {
	const saved = `{"api":"causal-profile/v1","curves":[{"mode":"overlap","region":{"scope":"","span":"a"},"progress":"done","metric":"throughput",
"verdict":"withheld: 3 iterations measured, 5 are needed","effects":[{"speedup":0.5,"samples":3,"withheld":"3 iterations measured, 5 are needed"}]}]}`
	p, err := Read(strings.NewReader(saved))
	if err != nil {
		t.Fatal(err)
	}
	c := p.Curves[0]
	if c.Verdict != VerdictWithheld || c.Effects[0].Withheld != told("3 iterations measured, 5 are needed") || c.Effects[0].Known() {
		t.Errorf("curve %+v", c)
	}
	if p, err := Read(strings.NewReader(strings.Replace(saved, `"withheld":"3 iterations measured, 5 are needed"`, `"withheld":null`, 1))); err != nil || !p.Curves[0].Effects[0].Known() {
		t.Errorf("a reason that is null: %+v, %v, want a number", p.Curves, err)
	}
	if _, err := Read(strings.NewReader(strings.Replace(saved, `"withheld":"3 iterations measured, 5 are needed"`, `"withheld":7`, 1))); err == nil {
		t.Error("a reason that is a number is read")
	}
}
