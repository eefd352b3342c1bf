package viewer

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/otelprof/otelprof/internal/stacks/goroutines"
	"github.com/otelprof/otelprof/internal/testutil"
)

// hangs waits for what does not come, and says when it is there.
func hangs(there *sync.WaitGroup, quit chan struct{}) { there.Done(); <-quit }

func TestGoroutines(t *testing.T) {
	quit, ended := make(chan struct{}), make(chan struct{})
	var there sync.WaitGroup
	there.Add(1)
	go func() { hangs(&there, quit); close(ended) }()
	there.Wait()
	defer func() { close(quit); <-ended }()

	h := testHandler(t, nil)
	a := ask(t, h, "GET", "/api/v1/goroutines", "")
	if a.code != 200 || !strings.Contains(a.body, "[running]") || !strings.Contains(a.body, "viewer.hangs") {
		t.Errorf("%d %s; want this test running, and one goroutine in hangs", a.code, a.body)
	}
	if got := a.header.Get("Content-Type"); got != "text/plain; charset=utf-8" {
		t.Errorf("Content-Type %q, want text", got)
	}
	if a := ask(t, h, "GET", "/api/v1/goroutines?least=1000", ""); a.code != 200 || strings.Contains(a.body, "[running]") {
		t.Errorf("of a thousand or more: %d %s", a.code, a.body)
	}
	for _, query := range []string{"least=0", "least=x", "least=-1", "format=svg", "format=json&least=2"} {
		errorOf(t, ask(t, h, "GET", "/api/v1/goroutines?"+query, ""), 400)
	}
	h.saved = true
	checkEqual(t, "saved data", errorOf(t, ask(t, h, "GET", "/api/v1/goroutines", ""), 404), "goroutines: the program must run: this is saved data")
}

// goroutineNode is a call in goroutinesJSON, as a client reads it.
type goroutineNode struct {
	Func     string
	Samples  int
	Children []goroutineNode
}

// in reports how many goroutines are in a call whose name has that ending.
func (n goroutineNode) in(ending string) int {
	if strings.HasSuffix(n.Func, ending) {
		return n.Samples
	}
	sum := 0
	for _, c := range n.Children {
		sum += c.in(ending)
	}
	return sum
}

func TestGoroutinesJSON(t *testing.T) {
	quit := make(chan struct{})
	var there, all sync.WaitGroup
	const n = 3
	there.Add(n)
	for range n {
		all.Go(func() { hangs(&there, quit) })
	}
	defer all.Wait()
	defer close(quit)

	if !testutil.Eventually(func() bool { // until all wait
		got := decode[struct {
			At     time.Time
			Count  int
			Groups []struct {
				Reason string
				Count  int
				Tree   goroutineNode
			}
		}](t, ask(t, testHandler(t, nil), "GET", "/api/v1/goroutines?format=json", ""), 200)
		sum, waiting := 0, 0
		for _, g := range got.Groups {
			sum += g.Count
			if g.Reason == "chan receive" {
				waiting = g.Tree.in("viewer.hangs")
			}
		}
		if sum != got.Count || time.Since(got.At) > time.Minute {
			t.Fatalf("%d goroutines in groups, %d in all, at %v", sum, got.Count, got.At)
		}
		return waiting == n
	}) {
		t.Errorf("less than %d goroutines in hangs", n)
	}
}

// TestGoroutinesAreSeldomLookedAt checks that frequent requests get the last answer again.
func TestGoroutinesAreSeldomLookedAt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c cached[goroutineLook]
		now := func(look func() (*goroutines.Dump, error)) goroutineLook {
			l, _ := c.get(goroutinesAge, goroutinesRest, func() (goroutineLook, error) { return lookAt(look), nil })
			return l
		}
		looks := 0
		look := func() (*goroutines.Dump, error) { looks++; return &goroutines.Dump{Count: looks}, nil }
		for range 30 {
			if l := now(look); l.err != nil || l.dump.Count != looks || l.at.IsZero() {
				t.Fatalf("%+v after %d looks", l, looks)
			}
			time.Sleep(100 * time.Millisecond)
		}
		if looks != 3 {
			t.Errorf("%d looks in 3 s, want 3", looks)
		}
		slow := func() (*goroutines.Dump, error) { looks++; time.Sleep(4 * time.Second); return &goroutines.Dump{}, nil }
		time.Sleep(time.Second)
		for range 40 {
			now(slow)
			time.Sleep(time.Second)
		}
		if looks != 4 {
			t.Errorf("%d looks of 4 s within 44 s, want 1", looks-3)
		}
	})
}
