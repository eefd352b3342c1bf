package causal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.opentelemetry.io/otel/attribute"

	"github.com/otelprof/otelprof/causal/internal/engine/experiment"
	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/internal/clock/ending"
	"github.com/otelprof/otelprof/internal/naming"
)

// All events of some plans, in Status and as delivered.
func TestAuditEvents(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var told []AuditEvent
		c := newController(t, process("shop", "prod", "1"), WithAudit(nil), WithAudit(func(e AuditEvent) { told = append(told, e) }))
		tp := newProvider(t, c)
		b := &bench{t, c, tp.Tracer("t"), nil}
		began := time.Now()
		first := mustParse(t, idle, wideLimits, "id: a", "generation: 3", "author: ann", "reason: slow?")
		b.run = force(t, c, first)
		dilate(b.run, 1, experiment.SparesNone)
		b.span(context.Background(), "x", 7*ms)
		c.StopPlan("it is late")
		synctest.Wait()
		c.Reject(Source{Name: "file p"}, errors.New("not a plan"))
		other := mustParse(t, "id: b", "target: {service: bank}")
		if err := c.Apply(other); err != nil {
			t.Fatal(err)
		}
		small := mustParse(t, idle, "id: c", "limits: {per_span: 10ms, per_trace: 10ms, duty: 100%, total: 10ms}")
		b.run = force(t, c, small)
		dilate(b.run, 1, experiment.SparesNone)
		b.span(context.Background(), "x", 9*ms)
		b.span(context.Background(), "x", 9*ms)
		synctest.Wait()
		again := mustParse(t, idle, "id: d", "generation: 3")
		_ = c.Apply(again)
		synctest.Wait()

		event := func(p *plan.Plan, kind AuditKind, source, message string, spent time.Duration) AuditEvent {
			e := about(p, source, kind, message)
			e.Spent = spent
			return e
		}
		want := []AuditEvent{
			event(first, AuditReceived, "api", "", 0),
			event(first, AuditStarted, "api", "", 0),
			event(first, AuditKind(StateStopped), "api", "it is late", 7*ms),
			event(nil, AuditRejected, "file p", "not a plan", 0),
			event(other, AuditReceived, "api", "", 0),
			event(other, AuditIgnored, "api", `the plan is for service "bank", this is "shop"`, 0),
			event(small, AuditReceived, "api", "", 0),
			event(small, AuditStarted, "api", "", 0),
			event(small, AuditKind(StateSpent), "api", "limits.total is used up", 9*ms),
			event(again, AuditReceived, "api", "", 0),
			event(again, AuditRejected, "api", "causal: stale plan: generation 3: must be above 3, the last one seen", 0),
		}
		opts := cmp.Options{cmpopts.IgnoreFields(AuditEvent{}, "Time"), cmpopts.IgnoreUnexported(AuditEvent{})}
		if diff := cmp.Diff(want, told, opts); diff != "" {
			t.Errorf("what is told differs, -want +got:\n%s", diff)
		}
		status := c.Status()
		if diff := cmp.Diff(told, status.Audit, cmpopts.IgnoreUnexported(AuditEvent{})); diff != "" {
			t.Errorf("Status().Audit differs from what is told:\n%s", diff)
		}
		if first := told[0]; !first.Time.Equal(began) || first.Author != "ann" || first.PlanReason != "slow?" || first.Generation != 3 {
			t.Errorf("the first event is %+v", first)
		}
		text, err := json.Marshal(status)
		if err != nil || !strings.Contains(string(text), `"kind":"stopped","plan_id":"a","generation":3,`) || !strings.Contains(string(text), `"spent_ns":7000000,"message":"it is late"}`) {
			t.Errorf("Marshal(Status()) = %s, %v", text, err)
		}
	})
}

func TestAuditEventAttributes(t *testing.T) {
	e := AuditEvent{
		Kind: AuditKind(StateStopped), PlanID: "a", Generation: 3, PlanHash: "00ff", Author: "ann", PlanReason: "slow?",
		Source: "api", Spent: 7 * ms, Message: "it is late",
	}
	got := map[attribute.Key]any{}
	for _, kv := range e.Attributes() {
		got[kv.Key] = kv.Value.AsInterface()
	}
	want := map[attribute.Key]any{
		naming.PlanEventKindKey: "stopped", planIDKey: "a", planGenerationKey: int64(3), naming.PlanHashKey: "00ff", planAuthorKey: "ann",
		planReasonKey: "slow?", planSourceKey: "api", planSpentKey: 0.007, planMessageKey: "it is late",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Attributes() differ, -want +got:\n%s", diff)
	}
	if kv := (AuditEvent{Kind: AuditReceived}).Attributes(); len(kv) != 1 {
		t.Errorf("Attributes() of an event of which nothing is known = %v, want its kind only", kv)
	}
	for kind, want := range map[AuditKind]slog.Level{
		AuditReceived: slog.LevelInfo, AuditKind(StateStopped): slog.LevelInfo, AuditRejected: slog.LevelWarn,
		AuditKind(StateAborted): slog.LevelWarn, AuditPanicked: slog.LevelError,
	} {
		if got := (AuditEvent{Kind: kind}).Level(); got != want {
			t.Errorf("Level() of %s = %v, want %v", kind, got, want)
		}
	}
}

// A listener may block, call back, or panic: the controller does not wait.
func TestAuditNeverHoldsUp(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		let := make(chan struct{})
		var c *Controller
		told := 0
		c = newController(t, WithAudit(func(e AuditEvent) {
			<-let
			_ = c.Status() // takes the controller's lock
			if told++; e.Message == "7" {
				panic("oh no")
			}
		}))
		const rejected = queuedEvents + 100
		for i := range rejected {
			c.Reject(Source{Name: "s"}, errors.New(fmt.Sprint(i)))
		}
		s := c.Status()
		if n := len(s.Audit); n != keptEvents || s.Audit[n-1].Message != fmt.Sprint(rejected-1) {
			t.Errorf("%d events in Status().Audit, want the latest %d: %+v", n, keptEvents, s.Audit)
		}
		if s.AuditDropped < 99 || s.AuditDropped > 100 { // one may have been taken out of the queue
			t.Errorf("Status().AuditDropped = %d, want those beyond the queue", s.AuditDropped)
		}
		soon, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
		defer cancel()
		began := time.Now()
		if err := c.Shutdown(soon); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 10*time.Millisecond+ending.Grace {
			t.Errorf("Shutdown(10 ms) = %v after %v, want it to give up", err, time.Since(began))
		}
		began = time.Now()
		if err := c.Shutdown(context.Background()); err != nil || time.Since(began) != toldWithin {
			t.Errorf("Shutdown() = %v after %v, want it to wait for %v", err, time.Since(began), toldWithin)
		}
		close(let)
		synctest.Wait()
		// Every event was delivered or counted, but for the one that panicked, which is both.
		if got := uint64(told) + c.Status().AuditDropped; got != rejected+1 {
			t.Errorf("%d told and %d dropped of %d", told, c.Status().AuditDropped, rejected)
		}
	})
}

// Attributes have no unsigned integers: a generation beyond them is the largest that there is.
func TestAuditGenerationIsNotNegative(t *testing.T) {
	for generation, want := range map[uint64]int64{7: 7, math.MaxInt64 + 1: math.MaxInt64, math.MaxUint64: math.MaxInt64} {
		for _, kv := range (AuditEvent{Generation: generation}).Attributes() {
			if kv.Key == planGenerationKey && kv.Value.AsInt64() != want {
				t.Errorf("generation %d is %d, want %d", generation, kv.Value.AsInt64(), want)
			}
		}
	}
}

func TestAuditMessagesAreBounded(t *testing.T) {
	c := newController(t)
	c.Reject(Source{Name: "s"}, errors.New(strings.Repeat("é", 10_000)))
	if got := c.Status().Audit[0].Message; len(got) > longestMessage+10 || !strings.HasSuffix(got, "é …") {
		t.Errorf("a message of %d bytes: %.20q", len(got), got)
	}
}

// The last events are delivered before Shutdown returns.
func TestShutdownTellsTheEnd(t *testing.T) {
	told := make(chan AuditEvent, 10)
	c, err := NewController(WithExperiments(wide), WithAudit(func(e AuditEvent) { told <- e }))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Apply(mustParse(t, idle)); err != nil {
		t.Fatal(err)
	}
	if err := c.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	close(told)
	var kinds []AuditKind
	for e := range told {
		kinds = append(kinds, e.Kind)
	}
	if diff := cmp.Diff([]AuditKind{AuditReceived, AuditStarted, AuditKind(StateStopped)}, kinds); diff != "" {
		t.Errorf("what is told before Shutdown returns differs, -want +got:\n%s", diff)
	}
}

func TestStatusHasTheLease(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		c := newController(t)
		source := Source{Name: "file", Lease: 6 * time.Second}
		if err := c.ApplyFrom(source, mustParse(t, idle, "restart: true")); err != nil {
			t.Fatal(err)
		}
		if got := time.Until(c.Status().LeaseEnds); got != 6*time.Second {
			t.Errorf("the lease ends in %v, want 6s", got)
		}
		time.Sleep(2 * time.Second)
		c.Renew(source)
		if got := time.Until(c.Status().LeaseEnds); got != 6*time.Second {
			t.Errorf("the lease ends in %v after it was renewed, want 6s", got)
		}
		c.StopPlan("test")
		if got := c.Status().LeaseEnds; !got.IsZero() {
			t.Errorf("the lease ends at %v when the plan has ended, want no time", got)
		}
		if err := c.Apply(mustParse(t, idle, "id: b")); err != nil {
			t.Fatal(err)
		}
		if got := c.Status().LeaseEnds; !got.IsZero() {
			t.Errorf("the lease of a plan without one ends at %v, want no time", got)
		}
	})
}
