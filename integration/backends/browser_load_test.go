package backends

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp/kb"
	"go.opentelemetry.io/otel/attribute"

	"github.com/otelprof/otelprof"
	"github.com/otelprof/otelprof/spans"
	"github.com/otelprof/otelprof/viewer"
)

// manySessions are n of 200 spans each, the newest first; they share their spans.
type manySessions []*spans.SessionRecord

func newSessions(n int) manySessions {
	records := make([]spans.SpanRecord, 200)
	for i := range records {
		parent := (i - 1) / 8
		if i == 0 {
			parent = -1
		}
		records[i] = spans.SpanRecord{
			Name: fmt.Sprintf("step %d", i%20), Scope: shopScope, Parent: parent, Start: time.Duration(i) * 30 * time.Microsecond,
			Duration: 25 * time.Microsecond, SelfTime: 25 * time.Microsecond, Sampled: true,
			Attributes: []attribute.KeyValue{attribute.String("db.query.text", "SELECT stock FROM products WHERE id = ?")},
		}
	}
	records[0].Duration = 8 * time.Millisecond
	sessions := make(manySessions, n)
	for i := range sessions {
		s := &spans.SessionRecord{Name: "POST /orders", Start: time.Now().Add(-time.Duration(i) * time.Millisecond), Duration: time.Duration(8000+i%100) * time.Microsecond, Spans: records}
		binary.BigEndian.PutUint64(s.ID[:], uint64(i+1))
		sessions[i] = s
	}
	return sessions
}

func (m manySessions) Append(*spans.SessionRecord) error { return nil }

func (m manySessions) Session(id spans.SessionID) (*spans.SessionRecord, bool) {
	i := int(binary.BigEndian.Uint64(id[:])) - 1
	if i < 0 || i >= len(m) {
		return nil, false
	}
	return m[i], true
}

func (m manySessions) Sessions(q spans.Query) []*spans.SessionRecord {
	all := slices.Clone(m)
	if q.Worst {
		slices.SortStableFunc(all, func(a, b *spans.SessionRecord) int { return int(b.Duration - a.Duration) })
	}
	return all[:min(len(all), q.Limit)]
}

// TestBrowserEmpty looks at a program that has served nothing, and measures nothing: all views say
// what to do.
func TestBrowserEmpty(t *testing.T) {
	needs(t)
	a := newApp(t, "empty", nil, "", otelprof.WithViewer("127.0.0.1:0"), otelprof.WithStacks(), otelprof.WithoutReplay())
	p := newPage(t, a.ViewerURL())
	for name, hash := range map[string]string{"overview": "#/", "regions": "#/regions", "sessions": "#/sessions", "causal": "#/causal", "stacks": "#/stacks", "gone": "#/sessions/00000000000000010000000000000000"} {
		p.open(t, hash)
		p.until(t, "says what to do", `[...document.querySelectorAll("#main .empty h2, #main .flame")].some((e) => e.checkVisibility())`)
		p.accessible(t, "empty-"+name)
	}
	a.work(t, 1)
	for name, hash := range map[string]string{"overview": "#/", "causal": "#/causal"} {
		p.open(t, hash)
		p.until(t, "says what to do", `document.querySelector("#main .empty .command")?.innerText.includes("OTELPROF_REPLAY=on")`)
		p.click(t, "#main .empty summary")
		p.accessible(t, "off-"+name)
	}
}

// TestBrowserLoad shows 10,000 sessions of 200 spans and 300 regions that change all the time: the
// page draws a bounded number of elements, and leaves alone the element that has the focus.
func TestBrowserLoad(t *testing.T) {
	needs(t)
	names := make([]string, 300)
	for i := range names {
		names[i] = fmt.Sprintf("region %03d", i)
	}
	regions := savedRegions(t, 1, names...)
	p := served(t, viewer.Sources{
		Regions: func() []spans.RegionStats {
			now := slices.Clone(regions)
			for i := range now {
				now[i].Count += uint64(time.Now().UnixNano() % 1000) // each answer differs
			}
			return now
		},
		Store: newSessions(10_000), Service: "shop",
	})

	// long counts the milliseconds in which the page did not react, in tasks of 50 ms and more.
	eval[bool](t, p, `new PerformanceObserver((l) => l.getEntries().forEach((e) => { window.long = Math.max(window.long ?? 0, e.duration); })).observe({type: "longtask"}) ?? true`)
	for _, view := range []struct {
		name, hash, ready string
		most              int // elements
	}{
		{"list of 300 regions", "#/regions", `document.querySelectorAll("#main [data-row]").length === 300`, 16_000},
		{"list of 100 sessions", "#/sessions", `document.querySelectorAll("#main [data-row]").length === 100`, 2500},
		{"list of 1000 sessions", "#/sessions?limit=1000", `document.querySelectorAll("#main [data-row]").length === 1000`, 20_000},
		{"list of those with a step", "#/sessions?name=step+7", `document.querySelectorAll("#main [data-row]").length === 100`, 2500},
		{"tree of 200 spans", "#/sessions/00000000000000010000000000000000?min_ns=0&fold=0", `document.querySelectorAll("#main .row").length === 200`, 6000},
	} {
		eval[bool](t, p, `(window.long = 0, true)`)
		start := time.Now()
		p.open(t, view.hash)
		p.until(t, "draws the "+view.name, view.ready)
		took := time.Since(start)
		n := eval[int](t, p, `document.querySelectorAll("*").length`)
		if n > view.most {
			t.Errorf("%s: %d elements, want %d at most", view.name, n, view.most)
		}
		time.Sleep(2500 * time.Millisecond) // once more from the process
		check(t, "browser_load", "figure=%d ms until the %s is there; %d elements; %.0f ms at most without a reaction",
			took.Milliseconds(), view.name, n, eval[float64](t, p, `window.long`))
	}

	t.Run("undisturbed", func(t *testing.T) {
		p.open(t, "#/regions")
		const row = `document.querySelectorAll("#main tbody")[150]`
		eval[bool](t, p, row+`.querySelector("button").click() ?? true`)
		p.until(t, "opens a row", row+`.querySelector(".histogram")`)
		p.click(t, "#main figure summary")
		eval[bool](t, p, `(() => {
			const row = `+row+`;
			row.querySelector(".row-name").focus();
			row.scrollIntoView({ block: "center" });
			getSelection().selectAllChildren(row.querySelector(".name-text"));
			window.before = [document.activeElement, scrollY, getSelection().toString(), row.querySelector(".col-count").textContent];
			return true;
		})()`)
		p.until(t, "goes on", row+`.querySelector(".col-count").textContent !== before[3]`)
		p.until(t, "keeps focus, place and selection", `before[0] === document.activeElement && Math.abs(before[1] - scrollY) < 2 && before[2] === getSelection().toString()`)
		eval[bool](t, p, `(() => {
			getSelection().removeAllRanges();
			window.before = document.querySelector("#main figure");
			before.querySelector("summary").focus();
			return true;
		})()`)
		p.until(t, "draws the row's details again, as open as they were and with the focus there", `before !== document.querySelector("#main figure") &&
			document.querySelector("#main figure details").open && document.activeElement === document.querySelector("#main figure summary")`)

		// A hidden page sends no requests.
		eval[bool](t, p, `(() => {
			Object.defineProperty(document, "hidden", { get: () => window.unseen, configurable: true });
			window.unseen = true;
			document.dispatchEvent(new Event("visibilitychange"));
			setTimeout(() => performance.clearResourceTimings(), 500); // what was asked before may be on its way
			return true;
		})()`)
		time.Sleep(5 * time.Second)
		if asked := eval[[]string](t, p, `performance.getEntriesByType("resource").map((e) => e.name)`); len(asked) != 0 {
			t.Errorf("a hidden page asks for %q, want nothing", asked)
		}
		eval[bool](t, p, `(window.unseen = false, document.dispatchEvent(new Event("visibilitychange")))`)
		p.until(t, "asks again", `performance.getEntriesByType("resource").length > 0`)
	})

	t.Run("keyboard", func(t *testing.T) {
		p.open(t, "#/sessions")
		p.until(t, "has rows", `document.querySelector("#main [data-row]")`)
		p.key(t, "j")
		p.key(t, kb.Enter)
		p.until(t, "opens the session, with the focus in it", `document.querySelector(".timeline .row") && document.activeElement.id === "main"`)
		p.key(t, kb.Tab)
		p.until(t, "Tab goes on in the view", `document.querySelector("#main").contains(document.activeElement) && document.activeElement.id !== "main"`)
		if outline := eval[string](t, p, `getComputedStyle(document.activeElement).outlineStyle`); outline != "solid" {
			t.Errorf("the focus is drawn %s, want solid", outline)
		}
	})

	// A screen of 1280 pixels at 200 % has 640, at 400 % has 320.
	t.Run("zoom", func(t *testing.T) {
		for _, width := range []int64{640, 320} {
			p.look(t, "light", width)
			for _, hash := range []string{"#/", "#/regions", "#/sessions", "#/sessions/00000000000000010000000000000000"} {
				p.open(t, hash)
				if over := eval[int](t, p, "document.documentElement.scrollWidth - innerWidth"); over > 0 {
					t.Errorf("%s at %d pixels: the page is %d wider", hash, width, over)
				}
			}
		}
	})

	t.Run("still", func(t *testing.T) {
		p.media(t, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-reduced-motion", Value: "reduce"}}})
		p.open(t, "#/regions")
		if moving := eval[int](t, p, `[...document.querySelectorAll("*")].filter((e) => parseFloat(getComputedStyle(e).transitionDuration) > 0 || getComputedStyle(e).animationName !== "none").length`); moving != 0 {
			t.Errorf("%d elements move although nothing should", moving)
		}
	})
}
