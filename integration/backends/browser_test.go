package backends

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/otelprof/otelprof"
	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/internal/testutil"
	"github.com/otelprof/otelprof/viewer"
)

const token = "a token of the tests"

// A page is the viewer's, in a tab of Chromium.
type page struct {
	ctx  context.Context
	url  string
	axe  string // the checker's source
	dir  string // of screenshots
	errs chan string
}

// newPage opens the viewer of an application.
func newPage(t testing.TB, url string) *page {
	t.Helper()
	var chromium string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			chromium = path
			break
		}
	}
	if chromium == "" {
		testutil.Lacks(t, "INTEGRATION", "Chromium is not installed: apt-get install chromium")
	}
	dir, err := tools()
	if err != nil {
		t.Fatal(err)
	}
	axe, err := os.ReadFile(filepath.Join(dir, "axe", "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		testutil.Lacks(t, "INTEGRATION", "axe-core is not there: install npm, then go run ./backends/setup")
	}
	options := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(chromium), chromedp.Headless, chromedp.NoSandbox, chromedp.NoFirstRun, chromedp.DisableGPU,
		chromedp.UserDataDir(t.TempDir()), chromedp.WindowSize(1280, 900),
	}
	for _, flag := range []string{"disable-quic", "disable-background-networking", "disable-component-update", "disable-sync"} {
		options = append(options, chromedp.Flag(flag, true))
	}
	ctx, endBrowser := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, endTab := chromedp.NewContext(ctx)
	p := &page{ctx: ctx, url: url, axe: string(axe), dir: artefacts(t), errs: make(chan string, 100)}
	p.do(t, chromedp.Navigate(url))
	read := make(chan struct{})
	go func() {
		defer close(read)
		for m, err := range chromedp.Console(ctx) {
			if err != nil {
				return
			}
			if m.Type == chromedp.ConsoleError || m.IsException() {
				select {
				case p.errs <- m.Text + " " + m.URL:
				default: // enough of them
				}
			}
		}
	}()
	t.Cleanup(func() {
		_ = chromedp.Cancel(ctx) // waits for the browser to end
		endTab()
		endBrowser()
		<-read
	})
	return p
}

// served opens a viewer of these sources.
func served(t testing.TB, src viewer.Sources) *page {
	t.Helper()
	h, err := viewer.NewHandler(src)
	if err != nil {
		t.Fatal(err)
	}
	server, err := viewer.NewServer("127.0.0.1:0", h)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Shutdown(context.Background()) })
	return newPage(t, server.URL())
}

// do carries out what must not take long.
func (p *page) do(t testing.TB, actions ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	if err := chromedp.Do(p.ctx, actions...); err != nil {
		t.Fatal(err)
	}
}

// eval returns the value of an expression, which may be a promise.
func eval[T any](t testing.TB, p *page, expression string) T {
	t.Helper()
	v, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatalf("%.200s: %v", expression, err)
	}
	return v
}

// until waits for an expression to be true.
func (p *page) until(t testing.TB, what, expression string) {
	t.Helper()
	eventually(t, 20*time.Second, func() error {
		if !eval[bool](t, p, "Boolean("+expression+")") {
			return fmt.Errorf("page: %s: %s is not so; it shows:\n%s", what, expression, eval[string](t, p, "document.body.innerText"))
		}
		return nil
	})
}

func (p *page) key(t testing.TB, key string) {
	t.Helper()
	p.do(t, chromedp.KeyEvent(key))
}

// open shows a view and waits for its data.
func (p *page) open(t testing.TB, hash string) {
	t.Helper()
	eval[string](t, p, fmt.Sprintf("location.hash = %q", hash))
	p.until(t, "opens "+hash, `document.querySelector("#main").innerText.length > 40 && document.querySelector("#banner").hidden`)
}

// look makes the page dark or light, and narrow or wide.
func (p *page) look(t testing.TB, scheme string, width int64) {
	t.Helper()
	p.do(t, chromedp.EmulateViewport(width, 900))
	p.media(t, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
}

func (p *page) media(t testing.TB, params emulation.SetEmulatedMediaParams) {
	t.Helper()
	p.do(t, chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, params)
		return err
	}))
}

// shoot keeps a picture of the page.
func (p *page) shoot(t testing.TB, name string) {
	t.Helper()
	picture, err := chromedp.Run(p.ctx, chromedp.FullScreenshot(100))
	if err == nil {
		err = os.WriteFile(filepath.Join(p.dir, name+".png"), picture, 0o644)
	}
	if err != nil {
		t.Error(err)
	}
}

// inspect takes a picture of the page as it is, and wants no violation and no sideways overflow. It
// returns how many rules of axe pass.
func (p *page) inspect(t testing.TB, name string) (passes int) {
	t.Helper()
	p.shoot(t, name)
	violations, passes := p.violations(t)
	for _, v := range violations {
		t.Errorf("%s: %s", name, v)
	}
	if over := eval[int](t, p, "document.documentElement.scrollWidth - innerWidth"); over > 0 {
		t.Errorf("%s: the page is %d pixels wider than the screen", name, over)
	}
	return passes
}

// violations returns what axe finds.
func (p *page) violations(t testing.TB) (list []string, passes int) {
	t.Helper()
	if !eval[bool](t, p, `typeof axe === "object"`) {
		eval[bool](t, p, p.axe+"; true")
	}
	answer := eval[string](t, p, `axe.run(document, {resultTypes: ["violations"]}).then((r) => JSON.stringify({passes: r.passes.length, violations: r.violations}))`)
	var found struct {
		Passes     int
		Violations []struct {
			ID, Impact, Help string
			Nodes            []struct{ HTML, FailureSummary string }
		}
	}
	if err := json.Unmarshal([]byte(answer), &found); err != nil {
		t.Fatal(err)
	}
	for _, v := range found.Violations {
		first := ""
		if len(v.Nodes) > 0 {
			first = v.Nodes[0].HTML + "\n" + v.Nodes[0].FailureSummary
		}
		list = append(list, fmt.Sprintf("%s (%s), %d times: %s\n%s", v.ID, v.Impact, len(v.Nodes), v.Help, first))
	}
	return list, found.Passes
}

// TestBrowser drives the viewer of a working application in Chromium.
func TestBrowser(t *testing.T) {
	needs(t)
	a := newApp(t, "browser", nil, "",
		otelprof.WithViewer("127.0.0.1:0", viewer.WithToken(token)),
		otelprof.WithCounters(), otelprof.WithStacks(),
		otelprof.WithExperiments(plan.Limits{PerSpan: plan.Duration(50 * time.Millisecond), PerTrace: plan.Duration(time.Second), Duty: 1, Total: plan.Duration(time.Hour)}))
	quit, ended := make(chan struct{}), make(chan struct{})
	go func() { // some 100 requests a second
		defer close(ended)
		for {
			select {
			case <-quit:
				return
			case <-time.After(10 * time.Millisecond):
				a.work(t, 1)
			}
		}
	}()
	t.Cleanup(func() { close(quit); <-ended })
	p := newPage(t, a.ViewerURL())

	t.Run("views", func(t *testing.T) {
		views := eval[[]string](t, p, `[...document.querySelectorAll("nav [data-view]")].map((a) => a.hash)`)
		if len(views) < 3 {
			t.Fatalf("views %q: want three or more", views)
		}
		p.open(t, "#/sessions")
		p.until(t, "has rows", `document.querySelector("#main [data-row]")`)
		p.key(t, "j")
		p.key(t, kb.Enter)
		p.until(t, "opens a session", `location.hash !== "#/sessions"`)
		views = append(views, eval[string](t, p, "location.hash"))
		backgrounds := map[string]string{}
		looked, passes := 0, 0
		for _, scheme := range []string{"light", "dark"} {
			for _, width := range []int64{1280, 390} {
				p.look(t, scheme, width)
				for i, hash := range views {
					p.open(t, hash)
					view := cmp.Or(strings.Split(strings.TrimPrefix(hash, "#/"), "/")[0], "overview")
					passes += p.inspect(t, fmt.Sprintf("%d-%s-%s-%d", i, view, scheme, width))
					looked++
				}
				backgrounds[scheme] = eval[string](t, p, "getComputedStyle(document.documentElement).backgroundColor + getComputedStyle(document.body).backgroundColor")
			}
		}
		if backgrounds["light"] == backgrounds["dark"] {
			t.Errorf("background is %s, light or dark: want two", backgrounds["dark"])
		}
		check(t, "browser_views", "figure=%d views, light and dark, wide and narrow, without a violation; %d rules of axe pass", looked, passes)
		p.look(t, "light", 1280)
	})

	t.Run("overview", func(t *testing.T) {
		p.open(t, "#/")
		p.until(t, "has regions", `document.querySelector("table.overview [data-row]")`)
		// A row has its share of time, and an effect or the reason why there is none.
		if rows, said := eval[int](t, p, `document.querySelectorAll("table.overview tbody").length`),
			eval[int](t, p, `[...document.querySelectorAll("table.overview tbody")].filter((b) => b.querySelector(".time").innerText.includes("%") && b.querySelector(".why-line").innerText.trim()).length`); said != rows {
			t.Errorf("%d of %d rows say how much a region matters, or why that is not known", said, rows)
		}
		p.key(t, "j")
		p.until(t, "key j", `document.activeElement.matches("table.overview [data-row]")`)
		region := eval[string](t, p, "document.activeElement.innerText")
		p.key(t, kb.Enter)
		p.until(t, "key Enter", fmt.Sprintf(`location.hash.startsWith("#/regions") && document.querySelector("[data-filter]")?.value === %q`, region))
	})

	t.Run("keyboard", func(t *testing.T) {
		p.open(t, "#/regions")
		for key, hash := range map[string]string{"2": "#/regions", "3": "#/sessions", "4": "#/causal", "1": "#/"} {
			p.key(t, key)
			p.until(t, "key "+key, fmt.Sprintf("location.hash === %q", hash))
		}
		p.open(t, "#/regions")
		p.key(t, "j")
		p.until(t, "key j", `document.activeElement.closest("[data-row]")`)
		p.key(t, kb.Enter)
		p.until(t, "key Enter", `document.querySelector("#main [aria-expanded=true]")`)
		p.key(t, kb.Enter)
		p.until(t, "key Enter", `!document.querySelector("#main [aria-expanded=true]")`)
		p.key(t, "?")
		p.until(t, "key ?", `document.querySelector("#keys").open`)
		p.key(t, kb.Escape)
		p.until(t, "key Escape", `!document.querySelector("#keys").open`)
		p.key(t, "/")
		p.until(t, "key /", `document.activeElement.matches("[data-filter]")`)
		p.key(t, kb.Escape)
		p.key(t, "p")
		p.until(t, "key p", `document.querySelector("#pause").getAttribute("aria-pressed") === "true"`)
		p.key(t, "p")
		p.until(t, "key p", `document.querySelector("#pause").getAttribute("aria-pressed") === "false"`)
		check(t, "browser_keyboard", "figure=10 keys do what the page says")
	})

	t.Run("live", func(t *testing.T) {
		p.open(t, "#/regions")
		before := eval[string](t, p, `document.querySelector("#main table").innerText`)
		start := time.Now()
		p.until(t, "changes by itself", fmt.Sprintf(`document.querySelector("#main table").innerText !== %q`, before))
		check(t, "browser_live", "figure=%.1f s until the table has changed by itself", time.Since(start).Seconds())

		p.open(t, "#/stacks")
		p.until(t, "has calls", `document.querySelectorAll(".flame-box").length > 2`)
		eval[bool](t, p, `(() => {
			document.querySelectorAll(".flame-box")[1].focus();
			window.before = [document.activeElement.dataset.key, document.querySelector("#main").innerText];
			return true;
		})()`)
		p.until(t, "keeps the focus on a call", `before[1] !== document.querySelector("#main").innerText && document.activeElement.dataset.key === before[0]`)
	})

	t.Run("plan", func(t *testing.T) { p.plan(t, a) })

	for range len(p.errs) {
		if text := <-p.errs; !strings.Contains(text, "401") && !strings.Contains(text, "422") { // before the token; not a plan yet
			t.Error("console:", text)
		}
	}
}
