package backends

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"github.com/otelprof/otelprof"
	"github.com/otelprof/otelprof/internal/stacks/highrate"
	"github.com/otelprof/otelprof/spans"
	"github.com/otelprof/otelprof/viewer"
)

// stuckOnLock waits for a lock.
func stuckOnLock(mu *sync.Mutex) {
	mu.Lock()
	defer mu.Unlock()
}

// hang has goroutines wait for a lock until the test ends.
func hang(t *testing.T, n int) {
	t.Helper()
	var (
		mu  sync.Mutex
		all sync.WaitGroup
	)
	mu.Lock()
	for range n {
		all.Go(func() { stuckOnLock(&mu) })
	}
	t.Cleanup(func() { mu.Unlock(); all.Wait() })
}

// press presses the button with this text.
func (p *page) press(t *testing.T, text string) {
	t.Helper()
	eval[bool](t, p, fmt.Sprintf(`[...document.querySelectorAll("#main button")].find((b) => b.textContent === %q).click() ?? true`, text))
}

// TestBrowserGoroutines looks at a program that hangs: all of its goroutines are drawn, by what
// they wait for. The page has no samples of stacks.
func TestBrowserGoroutines(t *testing.T) {
	needs(t)
	hang(t, 40)
	p := served(t, viewer.Sources{Regions: func() []spans.RegionStats { return nil }, Store: spans.NewRing(1 << 20), Service: "hangs"})
	p.key(t, "5")
	p.until(t, "key 5 leads there without samples", `location.hash === "#/goroutines" && document.querySelector("nav [aria-current]")?.dataset.view === "stacks"`)

	const lock = `[...document.querySelectorAll(".reasons tbody tr")].find((r) => r.querySelector("th").innerText === "sync.Mutex.Lock")`
	const box = `[...document.querySelectorAll(".flame-box")].find((b) => b.getAttribute("aria-label").startsWith(%q))`
	stuck := fmt.Sprintf(box, "github.com/otelprof/otelprof/integration/backends.stuckOnLock,")
	p.until(t, "counts those that wait for the lock", lock+`?.cells[1].innerText === "40"`)
	p.until(t, "draws the reasons above all calls", fmt.Sprintf(box, "[sync.Mutex.Lock],")+`.style.top === "0px"`)
	p.until(t, "draws the function that waits", stuck)

	eval[bool](t, p, lock+`.querySelector("button").click() ?? true`)
	p.until(t, "zooms in", fmt.Sprintf(box, "[sync.Mutex.Lock],")+`.style.width === "100%" && document.activeElement.dataset.key?.includes("[sync.Mutex.Lock]")`)
	p.key(t, kb.ArrowDown)
	p.until(t, "key ↓ goes to a call, and says how many are in it", `document.activeElement.getAttribute("aria-level") === "2" && document.querySelector(".flame-facts").innerText.includes("40 goroutines")`)
	p.key(t, kb.Escape)
	p.until(t, "key Esc zooms out", `!document.activeElement.closest(".flame") || document.querySelector(".flame-box[aria-selected=true]") === null`)

	hang(t, 2)
	before := eval[string](t, p, `document.querySelector("#main").innerText`)
	time.Sleep(2500 * time.Millisecond) // longer than a view that asks again needs
	if after := eval[string](t, p, `document.querySelector("#main").innerText`); after != before {
		t.Errorf("the picture of a moment has changed by itself:\n%s\nwas\n%s", after, before)
	}
	p.press(t, "Look again")
	p.until(t, "looks again", lock+`?.cells[1].innerText === "42"`)
	p.write(t, "[data-filter]", "stuckOnLock")
	p.until(t, "finds a function", `document.querySelector(".toolbar [role=status]").innerText.includes("of the goroutines in") && document.querySelector(".flame-box[data-dim]")`)

	p.accessible(t, "goroutines")
	for range len(p.errs) {
		t.Error("console:", <-p.errs)
	}
	check(t, "browser_goroutines", "figure=42 goroutines in a hang are drawn by their wait reason")
}

// TestBrowserHighRate takes a thousand samples a second from the page, where the machine lets it,
// and reads why not where it does not.
func TestBrowserHighRate(t *testing.T) {
	needs(t)
	a := newApp(t, "highrate", nil, "", otelprof.WithStacks())
	h, err := a.Handler()
	if err != nil {
		t.Fatal(err)
	}
	const refusal = "highrate: samples at 1000 Hz: counters not permitted: kernel.perf_event_paranoid is 4"
	var refuses sync.Map // the key "all" while there is one
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, yes := refuses.Load("all"); yes && r.Method == http.MethodPost {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = fmt.Fprintf(w, `{"error": %q}`, refusal)
			return
		}
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	p := newPage(t, s.URL+"/#/stacks")
	const said = `[...document.querySelectorAll(".flame-notice")].filter((e) => e.checkVisibility()).map((e) => e.innerText).join(" ")`

	t.Run("refused", func(t *testing.T) {
		refuses.Store("all", true)
		defer refuses.Delete("all")
		p.press(t, "1,000 samples a second")
		p.until(t, "says what does not permit it, and what to do", fmt.Sprintf(`%s.includes(%q) && %s.includes("otelprof doctor")`, said, refusal, said))
		p.inspect(t, "highrate-refused")
	})
	t.Run("taken", func(t *testing.T) {
		here, err := highrate.NewProfiler()
		if err == nil {
			err = here.Shutdown(context.Background())
		}
		stop, ended := make(chan struct{}), make(chan struct{})
		go func() { // something to sample
			defer close(ended)
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
			}
		}()
		defer func() { close(stop); <-ended }()
		p.press(t, "1,000 samples a second")
		if err != nil {
			p.until(t, "says what does not permit it", fmt.Sprintf("%s.includes(%q)", said, err.Error()))
			check(t, "browser_highrate", "figure=0 samples: not permitted here, and the page says so")
			return
		}
		p.until(t, "has samples of this rate", `location.hash.includes("fine=1") && document.querySelector("#main").innerText.includes("at 1,000 Hz") && document.querySelectorAll(".flame-box").length > 2`)
		p.until(t, "says that there are no regions", `document.querySelector(".flame-regions").innerText.includes("there are no regions")`)
		samples := eval[string](t, p, `document.querySelector("#main").innerText.match(/([\d,]+ samples), /)[1]`)
		if text := eval[string](t, p, `fetch([...document.querySelectorAll("#main a[download]")].find((a) => a.innerText === "folded").href).then((r) => r.text())`); !strings.Contains(text, ";") {
			t.Errorf("download: %.200s; want folded stacks", text)
		}
		p.inspect(t, "highrate-taken")
		p.press(t, "Back to 100 samples a second")
		p.until(t, "goes back", `!location.hash.includes("fine") && document.querySelector("#main").innerText.includes("at 100 Hz")`)
		check(t, "browser_highrate", "figure=%s taken by a button in 5 s", samples)
	})
	for range len(p.errs) {
		if text := <-p.errs; !strings.Contains(text, "503") { // what was refused, or is not permitted here
			t.Error("console:", text)
		}
	}
}
