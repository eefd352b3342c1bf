package remote_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/otelprof/otelprof/causal"
	"github.com/otelprof/otelprof/causal/remote"
	"github.com/otelprof/otelprof/causal/remote/internal/remotetest"
	"github.com/otelprof/otelprof/internal/http/planhttp"
)

// A nil option is left out.
func TestNilOptions(t *testing.T) {
	file, err := remote.NewFile("plan.yaml", nil, remote.WithInterval(time.Second))
	if err != nil || file.Interval() != time.Second {
		t.Errorf("NewFile with a nil option = %v, %v, want its interval", file, err)
	}
	server, err := remote.NewHTTP("https://plans.example/", nil, remote.WithInterval(time.Second))
	if err != nil || server.Interval() != 1100*time.Millisecond {
		t.Errorf("NewHTTP with a nil option = %v, %v, want its interval", server, err)
	}
	c, err := causal.NewController()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	remote.Follow(ctx, c, file, nil)
	if err := c.Shutdown(t.Context()); err != nil {
		t.Errorf("Shutdown() = %v", err)
	}
}

// The status tells why a source does not answer, since when and how often, without what may be
// secret.
func TestStatusOfSources(t *testing.T) {
	withServer(t, func(s *planServer) {
		source := func() causal.SourceStatus {
			t.Helper()
			all := s.c.Status().Sources
			if len(all) != 1 || all[0].Name != "http://localhost/plan" {
				t.Fatalf("Sources = %+v, want http://localhost/plan", all)
			}
			return all[0]
		}
		if got := source(); got.Missed != 0 || got.Error != "" || !got.Answered.Equal(time.Now()) {
			t.Errorf("after an answer: %+v", got)
		}
		s.answers(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Connection", "close")
			w.WriteHeader(http.StatusServiceUnavailable)
		})
		s.poll()
		since := time.Now()
		s.poll()
		s.poll()
		got := source()
		if late := since.Sub(got.Since); got.Missed != 3 || late < 0 || late > time.Second || got.Answered.IsZero() {
			t.Errorf("after three polls: %+v, want 3 missed since %v", got, since)
		}
		if want := "answer 503 Service Unavailable: must be 200, 204, 304 or 404"; got.Error != want {
			t.Errorf("Error = %q, want %q", got.Error, want)
		}
		_ = s.pipe.Close()
		time.Sleep(2 * planhttp.DefaultInterval)
		if got := source(); !strings.Contains(got.Error, "connection refused") || strings.Contains(fmt.Sprint(got), "secret") {
			t.Errorf("after the server is gone: %+v, want the cause, and no token", got)
		}
	})
}

// Neither a long error nor many sources make a status long.
func TestStatusOfSourcesBounded(t *testing.T) {
	c := remotetest.Controller(t)
	for i := range 100 {
		c.Heard(causal.Source{Name: fmt.Sprintf("%02d", 99-i)}, errors.New(strings.Repeat("é", 1000)))
	}
	all := c.Status().Sources
	if len(all) != 16 || all[0].Name != "84" || len(all[0].Error) > 256+len(" …") || all[0].Missed != 1 {
		t.Errorf("%d sources, first %+v, want 16 by name, with an error of at most 256 bytes", len(all), all[0])
	}
	c.Heard(causal.Source{Name: "84"}, nil)
	if got := c.Status().Sources[0]; got.Error != "" || got.Missed != 0 || !got.Since.IsZero() || got.Answered.IsZero() {
		t.Errorf("after an answer: %+v", got)
	}
}

// A nameless source panics wherever it is asked for its name.
type nameless struct{ script }

func (nameless) String() string { panic("no name") }

// A hurried source has no interval.
type hurried struct{ script }

func (hurried) Interval() time.Duration { panic("no interval") }

// A panic in any method of a source ends Follow, and not the process.
func TestFollowPanicOutsideRun(t *testing.T) {
	for want, source := range map[string]remote.Source{
		"remote_test.nameless: panic: no name": nameless{},
		"script: panic: no interval":           hurried{},
	} {
		inBubble(t, func(t *testing.T) {
			c := remotetest.Controller(t)
			remote.Follow(t.Context(), c, source, logTo(new(strings.Builder)))
			if got := c.Status().LastError; !strings.Contains(got, want) {
				t.Errorf("LastError = %q, want %q", got, want)
			}
		})
	}
}

// A source that panicked reports that for good.
func TestStatusOfPanickedSource(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		c := remotetest.Controller(t)
		remote.Follow(t.Context(), c, script(func(_ context.Context, _ *remote.Sink) { panic("in a callback") }), logTo(new(strings.Builder)))
		if all := c.Status().Sources; len(all) != 1 || !strings.Contains(all[0].Error, "script: panic: in a callback") {
			t.Errorf("Sources = %+v, want the panic", all)
		}
	})
}
