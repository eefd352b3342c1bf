package viewer

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/otelprof/otelprof/internal/testutil"
	"github.com/otelprof/otelprof/spans"
	"github.com/otelprof/otelprof/spans/schedule"
)

// The page in one file has all it needs: no address of another one, the sessions and regions of the
// moment, and a script that is one.
func TestOneFile(t *testing.T) {
	h := testHandler(t, &fakeExperiments{})
	kept := testSessions(300)
	kept[299].Name = "</script><script>alert(1)</script>"
	h.store = kept
	shared := testRegions(t)
	h.regions = func() []spans.RegionStats { return shared }
	a := ask(t, h, "GET", "/page.html", "")
	if a.code != 200 || a.header.Get("Content-Disposition") != `attachment; filename="profile.html"` {
		t.Fatalf("page.html: %d %v", a.code, a.header)
	}
	if outside := regexp.MustCompile(`(?m)(?:src|href)="(?:assets/|http|/)[^"]*"|^(?:import|export) `).FindAllString(a.body, -1); outside != nil {
		t.Errorf("it refers to %q", outside)
	}
	if n := strings.Count(a.body, "</script>"); n != 2 {
		t.Errorf("%d ends of scripts, want 2: a name must not be one", n)
	}
	if !strings.Contains(a.body, `data-saved="true"`) {
		t.Error("it does not know that it is saved")
	}
	parts := regexp.MustCompile(`(?s)<script type="application/json" id="kept">(.*?)</script>\s*<script type="module">(.*?)</script>`).FindStringSubmatch(a.body)
	if parts == nil {
		t.Fatal("it has no answers, or no program")
	}
	var answers map[string]json.RawMessage
	if err := json.Unmarshal([]byte(parts[1]), &answers); err != nil {
		t.Fatal(err)
	}
	var list sessionsJSON
	if err := json.Unmarshal(answers["sessions"], &list); err != nil || len(list.Sessions) != fileSessions {
		t.Errorf("%d sessions, %v; want %d, the newest of which are the slowest", len(list.Sessions), err, fileSessions)
	}
	for _, key := range []string{"regions", "causal/profile", "causal/plan", "regions/distribution\nGET /items/{id}\nshop\n2\n", "sessions/" + list.Sessions[0].ID.String()} {
		if answers[key] == nil {
			t.Errorf("no answer %q", key)
		}
	}
	if !slices.EqualFunc(shared, testRegions(t), func(a, b spans.RegionStats) bool { return a.Name == b.Name }) {
		t.Error("the regions, which others read, are in another order")
	}
	h.filing.Lock()
	if a := ask(t, h, "GET", "/page.html", ""); a.code != 409 {
		t.Errorf("a second one at once: %d", a.code)
	}
	h.filing.Unlock()
	if a := ask(t, h, "GET", "/page.html", "", header("Sec-Fetch-Site", "cross-site")); a.code != 403 {
		t.Errorf("from another site: %d", a.code)
	}
	node, err := exec.LookPath("node")
	if err != nil {
		testutil.Lacks(t, "NODE", "node is not installed")
	}
	file := filepath.Join(t.TempDir(), "page.mjs")
	if err := os.WriteFile(file, []byte(parts[2]), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(node, "--check", file).CombinedOutput(); err != nil {
		t.Errorf("the program: %v\n%s", err, out)
	}
}

// What a file has of saved data is the schedule of regions, too, and it offers nothing that takes a
// process: other instances, schedules of what runs.
func TestOneFileOffersWhatItHas(t *testing.T) {
	regions := testRegions(t)
	src := Sources{Regions: func() []spans.RegionStats { return regions }, Store: fakeStore{}, Saved: &Saved{
		Schedule: &schedule.Report{Window: time.Second, Regions: []schedule.Region{{Scope: "shop", Name: "a", Count: 2}}},
	}}
	h, err := NewHandler(src, WithHosts("viewer.test"), WithPrometheus("http://127.0.0.1:9090"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`data-schedule="true"`, `"regions/schedule\na\nshop\n\n":{"taken"`, `data-fleet="false"`, `data-goroutines="false"`} {
		if a := ask(t, h, "GET", "/page.html", ""); !strings.Contains(a.body, want) {
			t.Errorf("the page of saved data lacks %q", want)
		}
	}
	h = testHandler(t, nil)
	h.schedule = savedSchedule{src.Saved.Schedule}
	a := ask(t, h, "GET", "/page.html", "")
	if !strings.Contains(a.body, `data-schedule="false"`) || strings.Contains(a.body, `"regions/schedule`) {
		t.Error("the page of a process has a schedule")
	}
	if !strings.Contains(a.body, `data-goroutines="true"`) || !strings.Contains(a.body, `"goroutines":{"at"`) {
		t.Error("the page of a process lacks its goroutines")
	}
}

// More than a browser takes is refused with the limit.
func TestOneFileIsBounded(t *testing.T) {
	h := testHandler(t, nil)
	big := testSession(0)
	big.Spans[0].StatusText = strings.Repeat("x", maxFileBytes)
	h.store = fakeStore{big}
	h.regions = func() []spans.RegionStats { return nil }
	if a := ask(t, h, "GET", "/page.html", ""); a.code != 500 || !strings.Contains(a.body, "must have fewer") {
		t.Errorf("%d %.200s", a.code, a.body)
	}
}
