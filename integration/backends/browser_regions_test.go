package backends

import (
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"

	"github.com/otelprof/otelprof/otelhdr"
	"github.com/otelprof/otelprof/spans"
	"github.com/otelprof/otelprof/spans/schedule"
	"github.com/otelprof/otelprof/spans/stacks"
	"github.com/otelprof/otelprof/viewer"
)

var shopScope = instrumentation.Scope{Name: "shop", Version: "1"}

// savedRegions have a thousand durations each, which take times as long as the first run's.
func savedRegions(t *testing.T, times float64, names ...string) []spans.RegionStats {
	t.Helper()
	var out []spans.RegionStats
	for i, name := range names {
		h, err := otelhdr.NewHistogram()
		if err != nil {
			t.Fatal(err)
		}
		var total time.Duration
		for n := range 1000 {
			d := time.Duration(float64(1000+n) * times * float64(time.Microsecond) * float64(i+1))
			h.Record(uint64(d))
			total += d
		}
		out = append(out, spans.RegionStats{Scope: shopScope, Name: name, Count: 1000, Total: total, Self: total, Durations: h.Snapshot(nil)})
	}
	return out
}

// savedStacks has samples, one each 10 ms, of two functions.
func savedStacks(sum, tax int64) *stacks.Recording {
	tree := stacks.NewTree()
	for name, n := range map[string]int64{"shop.sum": sum, "shop.tax": tax} {
		tree.Add([]stacks.Frame{stacks.NewFrame(name, "pay.go", 7), stacks.NewFrame("main.main", "main.go", 9)}, stacks.Weight{Samples: n, Nanos: n * 1e7})
	}
	return &stacks.Recording{Hz: 100, Duration: time.Minute, Regions: []stacks.RegionTree{{Tree: tree}}}
}

// savedPage opens a page of two saved runs, of which the second is a fifth slower.
func savedPage(t *testing.T) *page {
	t.Helper()
	before, after := savedRegions(t, 1, "pay", "ship", "gone"), savedRegions(t, 1.2, "pay", "ship", "new")
	store := spans.NewRing(1 << 20)
	for i := range byte(5) {
		err := store.Append(&spans.SessionRecord{ID: spans.SessionID{15: i + 1}, Name: "pay", Duration: time.Second, Spans: []spans.SpanRecord{{
			Name: "pay", Scope: shopScope, Parent: -1, Duration: time.Second, SelfTime: time.Second, Sampled: true,
			Attributes: []attribute.KeyValue{attribute.Int64("otelprof.running_ns", 250), attribute.Int64("otelprof.runnable_ns", 250), attribute.Int64("otelprof.blocked_ns", 500)},
		}}})
		if err != nil {
			t.Fatal(err)
		}
	}
	split := schedule.Split{Running: time.Second, Blocked: map[schedule.Reason]time.Duration{"sync": 3 * time.Second}}
	return served(t, viewer.Sources{
		Regions: func() []spans.RegionStats { return after }, Store: store, Service: "shop (saved)",
		Saved: &viewer.Saved{
			Schedule: &schedule.Report{Window: 10 * time.Second, Regions: []schedule.Region{{Scope: "shop", Name: "pay", Count: 5, Total: split, Self: split}}},
			Runs: []viewer.Run{
				{Name: "monday", Regions: before, RelativeError: 0.001, Stacks: savedStacks(900, 100)},
				{Name: "tuesday", Regions: after, RelativeError: 0.001, Stacks: savedStacks(600, 400)},
			},
		},
	})
}

// TestBrowserSaved looks at saved runs in Chromium: what has a meaning there only, and what has
// none.
func TestBrowserSaved(t *testing.T) {
	needs(t)
	p := savedPage(t)

	t.Run("compare", func(t *testing.T) {
		p.open(t, "#/compare")
		row := func(name string) string {
			return fmt.Sprintf(`[...document.querySelectorAll("table.runs tbody")].find((b) => b.querySelector(".name-text").textContent === %q)`, name)
		}
		p.until(t, "shows both runs", row("pay")+`?.innerText.includes("+20.0 %")`)
		p.until(t, "says who is alone", row("new")+`.innerText.includes("only in the candidate") && `+row("gone")+`.innerText.includes("only in the baseline")`)
		eval[bool](t, p, row("pay")+`.querySelector("button").click() ?? true`)
		p.until(t, "opens the distributions", row("pay")+`.querySelector("svg.histogram path.bin-line") && `+row("pay")+`.querySelector(".comparison table tbody").rows.length > 5`)
		eval[bool](t, p, `[...document.querySelectorAll("#main button")].find((b) => b.textContent === "Swap").click() ?? true`)
		p.until(t, "swaps", row("pay")+`.innerText.includes("−16.7 %") && location.hash.includes("a=1")`)
		box := func(name string) string {
			return fmt.Sprintf(`[...document.querySelectorAll(".stack-changes .flame-box")].find((b) => b.textContent === %q)`, name)
		}
		for what, expression := range map[string]string{
			"a call of less":     box("shop.tax") + `?.dataset.change === "less" && ` + box("shop.tax") + `.ariaLabel.includes("40 % → 10 %")`,
			"one of more":        box("shop.sum") + `?.dataset.change === "more"`,
			"the functions":      `document.querySelector(".stack-changes tbody").rows[0].innerText.includes("30.0 points")`,
			"both runs' samples": `document.querySelector(".stack-changes .note").innerText.includes("tuesday: 1,000 samples")`,
		} {
			p.until(t, "call stacks: "+what, expression)
		}
	})

	t.Run("regions", func(t *testing.T) {
		p.open(t, "#/regions?q=pay")
		p.until(t, "a link to one region opens it", `document.querySelector("#main .region-detail .schedule table")`)
		for what, expression := range map[string]string{
			"the error bound":         `document.querySelector(".facts").innerText.includes("±")`,
			"what spans say of time":  `document.querySelector(".schedule table").innerText.includes("50 %")`,
			"the table beside a plot": `document.querySelector("figure details table.bins tbody").rows.length > 3`,
			"no mark without a now":   `!document.querySelector("#main").innerText.includes("Compare from now")`,
			"nothing to pause":        `document.querySelector("#pause").hidden && document.querySelector("#live").innerText === "Saved data"`,
		} {
			p.until(t, what, expression)
		}
		eval[bool](t, p, `[...document.querySelectorAll(".schedule button")].find((b) => b.textContent.startsWith("Where")).click() ?? true`)
		p.until(t, "the trace says where the time went", `document.querySelector(".schedule [role=status]").innerText.includes("Blocked: sync")`)
	})

	t.Run("views", func(t *testing.T) {
		passes, looked := 0, 0
		for _, scheme := range []string{"light", "dark"} {
			for _, width := range []int64{1280, 390} {
				p.look(t, scheme, width)
				for _, view := range []string{"", "regions?q=pay", "sessions", "compare"} {
					p.open(t, "#/"+view)
					p.until(t, "has rows", `document.querySelector("#main [data-row]")`)
					passes += p.inspect(t, fmt.Sprintf("saved-%.7s-%s-%d", view, scheme, width))
					looked++
				}
			}
		}
		check(t, "browser_saved", "figure=%d pictures of saved runs without a violation; %d rules of axe pass", looked, passes)
		p.look(t, "light", 1280)
	})

	t.Run("print", func(t *testing.T) {
		p.look(t, "dark", 1280)
		p.media(t, emulation.SetEmulatedMediaParams{Media: "print"})
		for _, view := range []string{"", "regions?q=pay", "sessions", "compare"} {
			p.open(t, "#/"+view)
			p.until(t, "has rows", `document.querySelector("#main [data-row]")`)
			eval[bool](t, p, `window.dispatchEvent(new Event("beforeprint"))`)
			for what, expression := range map[string]string{
				"light":          `getComputedStyle(document.documentElement).backgroundColor === "rgb(255, 255, 255)"`,
				"no navigation":  `![...document.querySelectorAll("nav, .live, .toolbar, #main button:not(.row-name, .card, .sort, .hot-step, .flame-box)")].some((e) => e.checkVisibility())`,
				"one address":    `document.querySelector("#printed").checkVisibility() && document.querySelector("#printed").innerText.split(location.href).length === 2`,
				"the service":    `document.querySelector("#printed").innerText.includes("shop (saved)")`,
				"nothing is cut": `[...document.querySelectorAll(".scroll")].every((e) => getComputedStyle(e).overflowX === "visible")`,
			} {
				p.until(t, "printed: "+what, expression)
			}
		}
	})

	for range len(p.errs) {
		t.Error("console:", <-p.errs)
	}
}
