package remote_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel"

	"github.com/otelprof/otelprof/causal"
	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/causal/remote"
	"github.com/otelprof/otelprof/causal/remote/internal/remotetest"
)

// A script is a source that does what a test says.
type script func(ctx context.Context, to *remote.Sink)

func (script) String() string                             { return "script" }
func (script) Interval() time.Duration                    { return time.Second }
func (f script) Run(ctx context.Context, to *remote.Sink) { f(ctx, to) }
func inBubble(t *testing.T, f func(*testing.T))           { t.Helper(); synctest.Test(t, f) }
func logTo(b *strings.Builder) remote.Option {
	return remote.WithLogger(slog.New(slog.NewTextHandler(b, nil)))
}

func wantState(t *testing.T, c *causal.Controller, want causal.State, reason string) {
	t.Helper()
	if s := c.Status(); s.State != want || !strings.Contains(s.Reason, reason) {
		t.Errorf("Status() = %s, %q (last error %q), want %s with %q", s.State, s.Reason, s.LastError, want, reason)
	}
}

// The lease is three intervals, to the day's end of a controller's look at it.
func TestFollowLease(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		c := remotetest.Controller(t)
		remotetest.Follow(t, c, script(func(ctx context.Context, to *remote.Sink) {
			if err := to.Document([]byte(remotetest.Document("plan-1", "a")), nil); err != nil {
				t.Error(err)
			}
			for range 10 { // renewed
				time.Sleep(2900 * time.Millisecond)
				to.Unchanged()
			}
			for range 10 { // not renewed
				time.Sleep(time.Second)
				to.Missed(errors.New("silence"))
			}
			<-ctx.Done()
		}))
		time.Sleep(29*time.Second + 2900*time.Millisecond)
		wantState(t, c, causal.StateRunning, "")
		time.Sleep(400 * time.Millisecond)
		wantState(t, c, causal.StateStopped, "the plan's source has not answered for the time of three polls")
	})
}

// Servers behind one address may sign with different keys, as while a key is replaced: each answer
// has the plan in force.
func TestFollowAnotherSignature(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		c := remotetest.Controller(t)
		document := []byte(remotetest.Document("plan-1", "a"))
		remotetest.Follow(t, c, script(func(ctx context.Context, to *remote.Sink) {
			for i := range 10 {
				if err := to.Document(document, fmt.Append(nil, i%2)); err != nil {
					t.Error(err)
				}
				time.Sleep(time.Second)
			}
			<-ctx.Done()
		}))
		time.Sleep(9500 * time.Millisecond)
		wantState(t, c, causal.StateRunning, "")
	})
}

// A source that goes on after a lease does not bring the plan back by saying that it is as it was.
func TestFollowDoesNotResume(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		c := remotetest.Controller(t)
		document := []byte(remotetest.Document("plan-1", "a"))
		remotetest.Follow(t, c, script(func(ctx context.Context, to *remote.Sink) {
			_ = to.Document(document, nil)
			time.Sleep(10 * time.Second)
			to.Unchanged()
			if err := to.Document(document, nil); err != nil {
				t.Errorf("Document() = %v for one that had been applied, want none", err)
			}
			<-ctx.Done()
		}))
		time.Sleep(11 * time.Second)
		wantState(t, c, causal.StateStopped, "the plan's source has not answered for the time of three polls")
	})
}

// Of two sources the one that speaks last is obeyed, also if what it says cannot be done. What only
// the other one says of itself changes nothing.
func TestFollowTwoSources(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		c := remotetest.Controller(t)
		step := func(d time.Duration) { time.Sleep(d); synctest.Wait() }
		remotetest.Follow(t, c, named{"one", func(ctx context.Context, to *remote.Sink) {
			for i := range 3 {
				if err := to.Document([]byte(remotetest.Document(fmt.Sprint("plan-", i), "a")), nil); err != nil {
					t.Error(err)
				}
				for range 10 {
					time.Sleep(time.Second)
					to.Unchanged()
				}
			}
			<-ctx.Done()
		}})
		remotetest.Follow(t, c, named{"two", func(ctx context.Context, to *remote.Sink) {
			time.Sleep(time.Second / 2)
			to.None("there is no plan")
			for range 5 {
				time.Sleep(time.Second)
				to.Missed(errors.New("silence"))
			}
			time.Sleep(time.Second)
			_ = to.Document([]byte("nonsense"), nil)
			<-ctx.Done()
		}})
		step(6 * time.Second)
		wantState(t, c, causal.StateRunning, "")
		step(2 * time.Second)
		wantState(t, c, causal.StateStopped, "the next plan was rejected")
		if got := c.Status().LastError; !strings.HasPrefix(got, "two: causal: plan") {
			t.Errorf("LastError = %q, want that of two", got)
		}
		step(3 * time.Second) // the next plan of one
		wantState(t, c, causal.StateRunning, "")
	})
}

type named struct {
	name string
	script
}

func (n named) String() string { return n.name }

// A panic in a source, wherever it is, ends the plan and Follow, and not the process.
func TestFollowPanic(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		c := remotetest.Controller(t)
		var log strings.Builder
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			remote.Follow(t.Context(), c, script(func(_ context.Context, to *remote.Sink) {
				if err := to.Document([]byte(remotetest.Document("plan-1", "a")), nil); err != nil {
					t.Error(err)
				}
				panic("in a callback")
			}), logTo(&log))
		}()
		<-ended
		wantState(t, c, causal.StateStopped, "script: panic: in a callback")
		if got := c.Status().LastError; !strings.Contains(got, "in a callback") {
			t.Errorf("LastError = %q, want the panic", got)
		}
		if got := log.String(); !strings.Contains(got, "level=ERROR") || !strings.Contains(got, "in a callback") || !strings.Contains(got, "follow_test.go") {
			t.Errorf("the logger was told %q, want the panic and where", got)
		}
	})
}

// A logger that panics while a document is taken has its plans refused from then on.
func TestFollowPanickingLogger(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		c := remotetest.Controller(t)
		panics := slog.New(panicHandler{slog.DiscardHandler})
		done := make(chan struct{})
		go func() {
			defer close(done)
			remote.Follow(t.Context(), c, script(func(_ context.Context, to *remote.Sink) {
				document := []byte(remotetest.Document("plan-1", "a"))
				if err := to.Document(document, nil); err != nil {
					t.Error(err)
				}
				func() {
					defer func() { _ = recover() }()
					to.Missed(errors.New("silence"))
				}()
				for range 2 { // says that the source answers again, which panics
					if err := to.Document(document, nil); err == nil || !strings.Contains(err.Error(), "panic: the logger") {
						t.Errorf("Document() = %v, want the panic", err)
					}
				}
			}), remote.WithLogger(panics))
		}()
		<-done
		wantState(t, c, causal.StateStopped, "script: panic: the logger")
	})
}

type panicHandler struct{ slog.Handler }

func (panicHandler) Enabled(context.Context, slog.Level) bool  { return true }
func (panicHandler) Handle(context.Context, slog.Record) error { panic("the logger") }

// Causes are logged once in ten minutes, with any numbers in them, and no more than 32 of them.
func TestWarnOncePerCause(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		c := remotetest.Controller(t)
		var log strings.Builder
		lines := func() int { return strings.Count(log.String(), "\n") }
		stop := remotetest.Follow(t, c, script(func(ctx context.Context, to *remote.Sink) {
			for port := range 1000 {
				to.Missed(fmt.Errorf("read tcp 127.0.0.1:%d: connection reset", port))
			}
			if got := lines(); got != 1 {
				t.Errorf("%d lines for one cause, want 1", got)
			}
			for i := range 1000 {
				to.Warn(errors.New("cause " + strings.Repeat("x", i)))
			}
			if got := lines(); got != 32 {
				t.Errorf("%d lines for 1001 causes, want 32", got)
			}
			time.Sleep(11 * time.Minute)
			to.Missed(errors.New("read tcp 127.0.0.1:1: connection reset"))
			if got := lines(); got != 33 {
				t.Errorf("%d lines after ten minutes, want 33", got)
			}
			<-ctx.Done()
		}), logTo(&log))
		time.Sleep(12 * time.Minute)
		stop()
	})
}

// Without a logger errors go to OpenTelemetry's handler.
func TestWarnWithoutLogger(t *testing.T) {
	var told []error
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { told = append(told, err) }))
	done := make(chan struct{})
	go func() {
		defer close(done)
		remote.Follow(t.Context(), remotetest.Controller(t), script(func(_ context.Context, to *remote.Sink) {
			to.Missed(errors.New("silence"))
		}))
	}()
	<-done
	if len(told) != 1 || told[0].Error() != "script: silence" {
		t.Errorf("otel.Handle was told %v, want script: silence", told)
	}
}

func TestFileSigned(t *testing.T) {
	public, private := testKeys(t)
	inPlace(t, "absent", func(p *place) {
		sign := func(document string) {
			p.Helper()
			if err := os.WriteFile(p.path+".sig", remote.Sign([]byte(document), private), 0o600); err != nil {
				p.Fatal(err)
			}
		}
		one, two := remotetest.Signable("plan-1", "a", 1), remotetest.Signable("plan-2", "b", 2)
		p.write(one)
		p.poll()
		p.want(causal.StateIdle, "")
		p.wantError(p.path, "signature: none: must be there, since a public key is set")
		sign(one) // the same document again, signed
		p.poll()
		p.wantPlan("plan-1", "a")
		p.write(two) // not signed yet
		p.poll()
		p.want(causal.StateStopped, "the next plan was rejected")
		p.wantError("made by none of the 1 public keys")
		sign(two)
		p.poll()
		p.wantPlan("plan-2", "b")
		if err := os.Remove(p.path + ".sig"); err != nil {
			p.Fatal(err)
		}
		p.poll()
		p.want(causal.StateStopped, "the next plan was rejected")
		large := two + strings.Repeat("#", 2*plan.MaxBytes)
		sign(large)
		p.write(large)
		p.poll()
		p.wantError(p.path, "must be at most 65536")
	}, remote.WithPublicKeys(public))
}

// The option alone demands signatures: with an empty list of keys none is trusted.
func TestFileSignedByNobody(t *testing.T) {
	inPlace(t, "valid", func(p *place) {
		p.want(causal.StateIdle, "")
		p.wantError("signature")
	}, remote.WithPublicKeys())
}

// A ConfigMap that is swapped while a signed plan is polled never shows half of one.
func TestFileSignedConfigMap(t *testing.T) {
	public, private := testKeys(t)
	dir := t.TempDir()
	swap := func(i int) {
		name := fmt.Sprint("..", i)
		document := remotetest.Signable(fmt.Sprint("plan-", i), "a", i+1)
		for _, err := range []error{
			os.Mkdir(filepath.Join(dir, name), 0o755),
			os.WriteFile(filepath.Join(dir, name, "plan.yaml"), []byte(document), 0o600),
			os.WriteFile(filepath.Join(dir, name, "plan.yaml.sig"), remote.Sign([]byte(document), private), 0o600),
			os.Symlink(name, filepath.Join(dir, "..data_tmp")),
			os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	swap(0)
	for _, name := range []string{"plan.yaml", "plan.yaml.sig"} {
		if err := os.Symlink(filepath.Join("..data", name), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	c := remotetest.Controller(t)
	f, err := remote.NewFile(filepath.Join(dir, "plan.yaml"), remote.WithInterval(100*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	remotetest.Follow(t, c, f, remote.WithPublicKeys(public))
	i := 0
	for end := time.Now().Add(time.Second); time.Now().Before(end); {
		i++
		swap(i)
		if err := c.Status().LastError; err != "" {
			t.Fatalf("after swap %d: %s", i, err)
		}
	}
	remotetest.Await(t, "the last plan runs", func() bool { s := c.Status(); return s.Plan != nil && s.Plan.ID == fmt.Sprint("plan-", i) })
}

func TestNewFileRejects(t *testing.T) {
	_, err := remote.NewFile("", remote.WithInterval(time.Millisecond), remote.WithInterval(time.Hour))
	for _, want := range []string{`path "": must not be empty`, "interval 1ms: must be in [100ms, 10m]", "interval 1h0m0s: must be in"} {
		if !errors.Is(err, remote.ErrConfig) || !strings.Contains(err.Error(), want) {
			t.Errorf("NewFile() = %v, want an ErrConfig with %q", err, want)
		}
	}
}
