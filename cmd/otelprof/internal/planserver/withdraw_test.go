package planserver_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/open-telemetry/opamp-go/protobufs"

	"github.com/otelprof/otelprof/cmd/otelprof/internal/planserver"
	"github.com/otelprof/otelprof/internal/naming"
)

// An instance that has aborted a plan ends it on the others.
func TestAbortWithdraws(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log audit
		s := newServer(t, planserver.WithLogger(log.Logger()), planserver.WithToken(testToken))
		poll := func(id, state, status, etag string) answer {
			return ask(s, "GET", "/v1/plan", "", naming.HeaderServiceName, "shop", naming.HeaderServiceInstanceID, id,
				naming.HeaderState, state, naming.HeaderPlanStatus, status, "If-None-Match", etag)
		}
		old := ask(s, "PUT", "/v1/plan", pl("checkout-1", 1)).header.Get("ETag")
		etag := ask(s, "PUT", "/v1/plan", pl("checkout-2", 2)).header.Get("ETag")
		for _, harmless := range []answer{
			poll("a", "running", naming.PlanApplied, etag),
			poll("b", "aborted: p99 3x", naming.PlanFailed, etag),    // of a plan before it; this one is refused
			poll("b", "aborted: p99 3x", naming.PlanApplied, old),    // of a plan before it
			poll("b", "aborted: p99 3x", naming.PlanApplied, "\"\""), // of a plan from elsewhere
			poll("b", "stopped: not aborted: no", naming.PlanApplied, etag),
		} {
			if harmless.code != 200 && harmless.code != 304 {
				t.Fatalf("poll = %d, want the plan", harmless.code)
			}
		}
		if got := poll("b", "aborted: p99 3x", naming.PlanApplied, etag); got.code != 204 {
			t.Errorf("the poll that reports an abort = %d, want 204", got.code)
		}
		if got := poll("a", "running", naming.PlanApplied, etag); got.code != 204 {
			t.Errorf("another instance's poll = %d, want 204", got.code)
		}
		log.wants(t, "plan pushed", `level=WARN msg="planserver: plan withdrawn"`, "id=checkout-2", "service=shop instance=b", `state="aborted: p99 3x"`)
		want := &planserver.Withdrawal{
			PlanInfo: planserver.PlanInfo{ID: "checkout-2", Generation: 2, Author: "night shift", Hash: etag[1 : len(etag)-1], Since: time.Now()},
			Service:  "shop", InstanceID: "b", State: "aborted: p99 3x", At: time.Now(),
		}
		if diff := cmp.Diff(want, s.Fleet().Withdrawn, cmpopts.IgnoreFields(planserver.PlanInfo{}, "ExpiresAt")); diff != "" {
			t.Errorf("withdrawn differs, -want +got:\n%s", diff)
		}
		if got := ask(s, "PUT", "/v1/plan", pl("checkout-3", 3)); got.code != 204 || s.Fleet().Withdrawn != nil {
			t.Errorf("push of another plan = %d %s and withdrawn %v, want none", got.code, got.body, s.Fleet().Withdrawn)
		}
		if got := poll("b", "aborted: p99 3x", naming.PlanApplied, etag); got.code != 200 {
			t.Errorf("poll with the report about the plan before = %d, want the plan", got.code)
		}
	})
}

// The same by OpAMP, at once.
func TestAbortWithdrawsByOpAMP(t *testing.T) {
	s := startServer(t)
	for _, how := range []planserver.How{planserver.HowWebSocket, planserver.HowOpAMPHTTP} {
		one, other := startAgent(t, how, s.URL(), 1), startAgent(t, how, s.URL(), 2)
		if err := s.Push([]byte(pl(string(how), 0)), nil, "test"); err != nil {
			t.Fatal(err)
		}
		has := func() bool { document, _, _ := other.plan(); return document != "" }
		eventually(t, "plan at the other instance", true, has)
		eventually(t, "instances with the plan", 2, func() (n int) {
			for _, i := range s.Fleet().Instances {
				if i.Current && i.Status == planserver.StatusApplied {
					n++
				}
			}
			return n
		})
		if err := one.SetHealth(&protobufs.ComponentHealth{Status: "aborted: p99 3x"}); err != nil {
			t.Fatal(err)
		}
		eventually(t, "plan at the other instance after the abort", false, has)
		if w := s.Fleet().Withdrawn; w == nil || w.ID != string(how) || w.InstanceID != "1" {
			t.Errorf("%s: withdrawn = %+v, want the plan", how, w)
		}
		one.stop()
		other.stop()
	}
}
