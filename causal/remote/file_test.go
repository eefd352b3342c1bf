package remote_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.uber.org/goleak"

	"github.com/otelprof/otelprof/causal"
	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/causal/remote"
	"github.com/otelprof/otelprof/causal/remote/internal/remotetest"
	_ "github.com/otelprof/otelprof/internal/testutil/thorough" // -long
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var document = remotetest.Document

func newFile(t *testing.T, path string) *remote.File {
	t.Helper()
	f, err := remote.NewFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// A place is a file that is polled every two seconds of a bubble's clock.
type place struct {
	*testing.T
	path   string
	source string
	c      *causal.Controller
	stop   context.CancelFunc
	done   chan struct{}
}

// inPlace runs f while the file is polled. The first poll finds a valid plan, or no file.
func inPlace(t *testing.T, first string, f func(p *place), opts ...remote.Option) {
	t.Helper()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		r := resource.NewSchemaless(attribute.String("service.name", "remotetest"))
		c, err := causal.NewController(causal.WithExperiments(plan.DefaultLimits()), causal.WithResource(r))
		if err != nil {
			t.Fatal(err)
		}
		p := &place{T: t, path: filepath.Join(dir, "plan.yaml"), c: c, done: make(chan struct{})}
		p.source = "file " + p.path
		if first == "valid" {
			p.write(document("plan-1", "a"))
		}
		ctx, cancel := context.WithCancel(t.Context())
		p.stop = cancel
		source := newFile(t, p.path)
		go func() {
			defer close(p.done)
			remote.Follow(ctx, c, source, opts...)
		}()
		synctest.Wait()
		f(p)
		cancel()
		<-p.done
		if err := c.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

func (p *place) write(content string) {
	p.Helper()
	if err := os.WriteFile(p.path, []byte(content), 0o644); err != nil {
		p.Fatal(err)
	}
}

func (p *place) remove() {
	p.Helper()
	if err := os.RemoveAll(p.path); err != nil {
		p.Fatal(err)
	}
}

// poll waits for the next poll and what follows from it.
func (p *place) poll() {
	time.Sleep(2 * time.Second) // the default interval
	synctest.Wait()
}

func (p *place) want(state causal.State, reason string) {
	p.Helper()
	if s := p.c.Status(); s.State != state || s.Reason != reason {
		p.Errorf("Status() = %s, %q (last error %q), want %s, %q", s.State, s.Reason, s.LastError, state, reason)
	}
}

func (p *place) wantPlan(id, region string) {
	p.Helper()
	s := p.c.Status()
	if s.State != causal.StateRunning || s.Plan == nil || s.Plan.ID != id || s.Plan.Regions[0].Span != region || s.Source != p.source || s.PlanFile != p.path {
		p.Errorf("Status() = %+v, want %s for %s running, from %s", s, id, region, p.source)
	}
}

func (p *place) wantError(want ...string) {
	p.Helper()
	got := p.c.Status().LastError
	for _, w := range want {
		if !strings.Contains(got, w) {
			p.Errorf("Status().LastError = %q, want it to contain %q", got, w)
		}
	}
}

func TestFileAppears(t *testing.T) {
	inPlace(t, "absent", func(p *place) {
		p.want(causal.StateIdle, "")
		for range 5 { // a file that is not there is no error
			p.poll()
		}
		p.want(causal.StateIdle, "")
		if got := p.c.Status().LastError; got != "" {
			p.Errorf("Status().LastError = %q without a file, want none", got)
		}
		p.write(document("plan-1", "a"))
		p.poll()
		p.wantPlan("plan-1", "a")
	})
}

func TestFileIsThereAtOnce(t *testing.T) {
	inPlace(t, "valid", func(p *place) {
		p.wantPlan("plan-1", "a")
		started := p.c.Profile().Started
		for range 20 { // the same content again and again keeps it in force
			p.poll()
		}
		p.wantPlan("plan-1", "a")
		if got := p.c.Profile().Started; !got.Equal(started) {
			p.Errorf("the plan of an unchanged file started again at %v, first at %v", got, started)
		}
	})
}

func TestFileChanges(t *testing.T) {
	inPlace(t, "valid", func(p *place) {
		p.write(document("plan-1", "b")) // neither id nor generation changes
		p.poll()
		p.wantPlan("plan-1", "b")
		p.write(document("plan-1", "b") + "# a comment is another content\n")
		p.poll()
		p.wantPlan("plan-1", "b")
	})
}

func TestFileWithGenerations(t *testing.T) {
	inPlace(t, "absent", func(p *place) {
		p.write(document("plan-1", "a", "generation: 5"))
		p.poll()
		p.wantPlan("plan-1", "a")
		p.write(document("plan-1", "b", "generation: 4"))
		p.poll()
		p.want(causal.StateStopped, "the next plan was rejected")
		p.wantError("generation 4: must be above 5")
		p.write(document("plan-1", "c", "generation: 6"))
		p.poll()
		p.wantPlan("plan-1", "c")
	})
}

func TestFileBecomesInvalid(t *testing.T) {
	for _, tt := range []struct {
		name    string
		content func() string // in the bubble, by its clock
		want    []string
	}{
		{"unknown key", func() string { return document("plan-1", "a", "regoins: []") }, []string{"line 7: regoins: unknown key: did you mean regions?"}},
		{"value out of range", func() string { return document("plan-1", "a", "limits: {duty: 500%}") }, []string{"limits.duty 500%: must be in (0%, 100%]"}},
		{"two things wrong", func() string { return document("plan-1", "a", "seed: x", "limits: {duty: 5}") }, []string{"line 7: seed: x: must be a whole number", "line 8: limits.duty: percentage"}},
		{"blank", func() string { return " \n\n" }, []string{"the document is empty"}},
		{"torn", func() string { return document("plan-1", "a")[:60] }, []string{"line 4: could not find expected ':'"}},
		{"too large", func() string { return document("plan-1", "a") + strings.Repeat("#", plan.MaxBytes) }, []string{"must be at most 65536"}},
		{"far too large", func() string { return strings.Repeat("#", 10*plan.MaxBytes) }, []string{"must be at most 65536"}},
		{"binary", func() string { return "\x7fELF\x02\x01\x01\x00" }, []string{"causal: plan: control characters are not allowed"}},
		{"expired", func() string {
			return strings.Replace(document("plan-1", "a"), "expires_at: 2000", "expires_at: 1999", 1)
		}, []string{"expires_at", "must be in the future"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inPlace(t, "valid", func(p *place) {
				p.write(tt.content())
				p.poll()
				p.want(causal.StateStopped, "the next plan was rejected")
				p.wantError(append(tt.want, p.path)...)
				for range 5 {
					p.poll()
				}
				p.want(causal.StateStopped, "the next plan was rejected")
				p.write(document("plan-2", "b"))
				p.poll()
				p.wantPlan("plan-2", "b")
				if got := p.c.Status().LastError; got != "" {
					p.Errorf("Status().LastError = %q after a valid plan, want none", got)
				}
			})
		})
	}
}

func TestFileDisappears(t *testing.T) {
	for reason, gone := range map[string]func(p *place){
		"the plan file is gone": func(p *place) { p.remove() },
		"the plan is empty":     func(p *place) { p.write("") },
	} {
		t.Run(reason, func(t *testing.T) {
			inPlace(t, "valid", func(p *place) {
				gone(p)
				p.poll()
				p.want(causal.StateStopped, reason)
				p.poll()
				p.want(causal.StateStopped, reason)
				p.write(document("plan-1", "a")) // back, as it was
				p.poll()
				p.wantPlan("plan-1", "a")
			})
		})
	}
}

// Kubernetes mounts a ConfigMap as a link to a link: plan.yaml -> ..data/plan.yaml, ..data ->
// ..2026_01. An update makes a new folder and renames a new ..data over the old.
func TestFileInConfigMap(t *testing.T) {
	inPlace(t, "absent", func(p *place) {
		dir := filepath.Dir(p.path)
		must := func(err error) {
			p.Helper()
			if err != nil {
				p.Fatal(err)
			}
		}
		version := func(name, content string) {
			must(os.Mkdir(filepath.Join(dir, name), 0o755))
			must(os.WriteFile(filepath.Join(dir, name, "plan.yaml"), []byte(content), 0o644))
			must(os.Symlink(name, filepath.Join(dir, "..data_tmp")))
			must(os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")))
		}
		version("..1", document("plan-1", "a"))
		must(os.Symlink(filepath.Join("..data", "plan.yaml"), p.path))
		p.poll()
		p.wantPlan("plan-1", "a")
		for i := 2; i < 5; i++ {
			version(fmt.Sprint("..", i), document(fmt.Sprint("plan-", i), "a"))
			must(os.RemoveAll(filepath.Join(dir, fmt.Sprint("..", i-1))))
			p.poll()
			p.wantPlan(fmt.Sprint("plan-", i), "a")
		}
		must(os.Remove(filepath.Join(dir, "..data"))) // the link leads nowhere
		p.poll()
		p.want(causal.StateStopped, "the plan file is gone")
	})
}

func TestFileCanNotBeRead(t *testing.T) {
	inPlace(t, "valid", func(p *place) {
		p.remove()
		if err := os.Mkdir(p.path, 0o755); err != nil {
			p.Fatal(err)
		}
		for range 2 {
			p.poll()
			p.wantPlan("plan-1", "a")
		}
		p.poll()
		time.Sleep(200 * time.Millisecond)
		synctest.Wait()
		p.want(causal.StateStopped, "the plan's source has not answered for the time of three polls")
	})
}

// Two polls without an answer are not three.
func TestFileCanBeReadAgain(t *testing.T) {
	inPlace(t, "valid", func(p *place) {
		content, err := os.ReadFile(p.path)
		if err != nil {
			p.Fatal(err)
		}
		for range 4 {
			p.remove()
			if err := os.Mkdir(p.path, 0o755); err != nil {
				p.Fatal(err)
			}
			p.poll()
			p.poll()
			p.remove()
			p.write(string(content))
			p.poll()
			p.wantPlan("plan-1", "a")
		}
	})
}

func TestFileRunEnds(t *testing.T) {
	inPlace(t, "valid", func(p *place) {
		p.wantPlan("plan-1", "a")
		p.stop()
		<-p.done
		p.want(causal.StateStopped, "the plan's source has ended")
	})
}

// What was applied by the program is not the file's to end.
func TestFileLeavesOthersAlone(t *testing.T) {
	inPlace(t, "valid", func(p *place) {
		plan, err := plan.Parse([]byte(document("by-api", "x")))
		if err != nil {
			p.Fatal(err)
		}
		if err := p.c.Apply(plan); err != nil {
			p.Fatal(err)
		}
		wantAPI := func(when string) {
			p.Helper()
			synctest.Wait()
			if s := p.c.Status(); s.State != causal.StateRunning || s.Plan.ID != "by-api" || s.Source != "api" {
				p.Errorf("%s: Status() = %+v, want the plan of the API running", when, s)
			}
		}
		for range 5 {
			p.poll()
		}
		wantAPI("the file is as it was")
		p.remove()
		p.poll()
		wantAPI("the file is gone")
		if err := os.Mkdir(p.path, 0o755); err != nil {
			p.Fatal(err)
		}
		for range 5 {
			p.poll()
		}
		wantAPI("the file cannot be read")
		p.stop()
		<-p.done
		wantAPI("the source has ended")
	})
}

// A file's plan that is refused by the controller stops what runs and is not tried again.
func TestFileIsRefused(t *testing.T) {
	c, err := causal.NewController()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "plan.yaml")
	if err := os.WriteFile(path, []byte(document("plan-1", "a")), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	source := newFile(t, path)
	go func() {
		defer close(done)
		remote.Follow(ctx, c, source)
	}()
	for c.Status().LastError == "" {
		time.Sleep(time.Millisecond)
	}
	cancel()
	<-done
	if s := c.Status(); s.State != causal.StateIdle || !strings.HasPrefix(s.LastError, causal.ErrDisabled.Error()) {
		t.Errorf("Status() = %s, %q, want idle and %v", s.State, s.LastError, causal.ErrDisabled)
	}
}
