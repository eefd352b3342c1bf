package whatif

import (
	"bytes"
	"encoding/pem"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/cmd/otelprof/internal/plans"
)

// A liveShop answers as a viewer does: from recordings, and, once it has a plan, also from
// slow-downs.
type liveShop struct {
	mu       sync.Mutex
	plan     *plan.Plan
	replaced string // the id of another plan, which comes after the first look
	state    string
	stopped  bool
	hangsUp  bool // once it has a plan
}

func (s *liveShop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/profile"):
		p := s.profile()
		_ = p.WriteJSON(w)
	case r.Header.Get("Authorization") != "Bearer token-of-the-shop" && r.Method != http.MethodGet:
		w.WriteHeader(http.StatusUnauthorized)
	case r.Method == http.MethodPut:
		text, _ := io.ReadAll(r.Body)
		p, err := plan.Parse(text)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if s.plan, s.state = p, "running"; s.hangsUp {
			panic(http.ErrAbortHandler)
		}
	case r.Method == http.MethodDelete:
		s.stopped, s.state = true, "stopped"
	}
	if strings.HasSuffix(r.URL.Path, "/plan") {
		id := s.replaced
		if id == "" && s.plan != nil {
			id = s.plan.ID
		}
		_, _ = io.WriteString(w, `{"plan": {"id": "`+id+`"}, "status": {"state": "`+s.state+`"}}`)
	}
}

func (s *liveShop) profile() profile.Profile {
	reserve := profile.Region{Scope: "shop", Name: "reserve *"}
	curve := func(region profile.Region, by float64) profile.Curve {
		c := profile.Curve{Mode: profile.ModeReplay, Region: region, Progress: "order", Metric: profile.MetricThroughput, BasePeriod: time.Millisecond}
		for _, s := range []float64{0.1, 0.25} {
			c.Effects = append(c.Effects, profile.Effect{Speedup: s, Reduction: by * s, Lo: by*s - 0.03, Hi: by*s + 0.03, Samples: 3})
		}
		return c
	}
	p := profile.Profile{Recorded: &profile.Recorded{Windows: 3, Length: time.Second}, Curves: []profile.Curve{curve(reserve, 0.5), curve(profile.Region{Scope: "shop", Name: "price"}, 0)}}
	if s.plan != nil {
		samples := []float64{0.41, 0.4, 0.39, 0.4, 0.4, 0.41}
		c := profile.Curve{
			Mode: profile.ModeSlowdown, Region: reserve, Progress: "order", Metric: profile.MetricThroughput, BasePeriod: time.Millisecond, Own: time.Millisecond,
			Slopes: []profile.Slope{profile.NewSlope(0.1, 0.1, samples)},
		}
		c.AnswerFromSlopes([]float64{0.1, 0.25})
		p.Curves, p.PlanID, p.Experiments = append(p.Curves, c), s.plan.ID, 9
	}
	p.Finish()
	return p
}

// A program confirms what recordings say: it gets a plan for the region that seems to matter, the
// cost is said before, and the plan ends.
func TestWhatifConfirm(t *testing.T) {
	s := &liveShop{state: "idle"}
	server := httptest.NewServer(s)
	defer server.Close()
	whatif := func(args ...string) (stdout, stderr string, err error) {
		var out, errs bytes.Buffer
		err = Command.Execute([]string{"otelprof"}, append(args, server.URL), nil, &out, &errs)
		return out.String(), errs.String(), err
	}
	if _, _, err := whatif("-confirm"); err == nil || !strings.Contains(err.Error(), "refused, 401") || s.plan != nil {
		t.Fatalf("without the token: %v, plan %v", err, s.plan)
	}
	t.Setenv(plans.EnvToken, "token-of-the-shop")
	stdout, stderr, err := whatif("-confirm")
	if err != nil {
		t.Fatal(err)
	}
	if s.plan == nil || !s.stopped {
		t.Fatalf("plan %v, stopped %t: want one that has ended", s.plan, s.stopped)
	}
	want := []plan.RegionPattern{{Span: `reserve \*`}}
	if diff := cmp.Diff(want, s.plan.Regions); diff != "" || s.plan.Mode != profile.ModeSlowdown || s.plan.Progress[0].Span != "order" {
		t.Errorf("plan %+v: regions (-want +got):\n%s", s.plan, diff)
	}
	for _, text := range []string{"callers of reserve * will be held", "takes at most 3 % of the throughput in the mean"} {
		if !strings.Contains(stderr, text) {
			t.Errorf("stderr lacks %q:\n%s", text, stderr)
		}
	}
	if !strings.Contains(stdout, "simulated, and confirmed by 9 experiments") {
		t.Errorf("stdout:\n%s", stdout)
	}
	stdout, stderr, err = whatif("-confirm", "-region", "price")
	if err != nil || !strings.Contains(stderr, "nothing was delayed") {
		t.Errorf("of a region that brings nothing: %v, %s%s", err, stdout, stderr)
	}
	s.plan, s.state, s.stopped, s.replaced = nil, "idle", false, "another"
	if _, stderr, err = whatif("-confirm"); err != nil || s.stopped || !strings.Contains(stderr, "plan another has taken the place of confirm-") {
		t.Errorf("another plan came: %v, %s; stopped %t, want it left alone", err, stderr, s.stopped)
	}
	s.plan, s.state = nil, "running"
	if _, _, err = whatif("-confirm"); err == nil || !strings.Contains(err.Error(), "a plan is in force") {
		t.Errorf("beside another plan: %v", err)
	}
	s.plan, s.state, s.stopped, s.replaced, s.hangsUp = nil, "idle", false, "", true
	if _, _, err = whatif("-confirm"); err == nil || s.plan == nil || !s.stopped {
		t.Errorf("a push without an answer: %v, plan %v, stopped %t; want one that has ended", err, s.plan, s.stopped)
	}
	if _, _, err = whatif("-confirm", "-procs", "8"); err == nil || !strings.Contains(err.Error(), "without -function") {
		t.Errorf("with a question about another build: %v", err)
	}
}

// A viewer with a certificate of its own is trusted by -ca, for what takes no token as well.
func TestWhatifTrusts(t *testing.T) {
	server := httptest.NewUnstartedServer(&liveShop{state: "idle"})
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	server.StartTLS()
	defer server.Close()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv(plans.EnvToken, "token-of-the-shop")
	for _, args := range [][]string{{"-ca", ca}, {"-ca", ca, "-confirm"}} {
		var out, errs bytes.Buffer
		if err := Command.Execute([]string{"otelprof"}, append(args, server.URL), nil, &out, &errs); err != nil {
			t.Errorf("whatif %q = %v", args, err)
		}
	}
	if err := Command.Execute([]string{"otelprof"}, []string{server.URL}, nil, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), "unknown authority") {
		t.Errorf("without -ca: %v", err)
	}
}
