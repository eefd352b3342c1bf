// Command firstuse does what a newcomer does, with what README.md prints: it puts the first snippet
// into an HTTP service with a TracerProvider of its own, builds and starts that with the variable
// that README names, sends requests, and opens the page. It prints after how long the page shows
// what, and exits 1 where a goal is missed.
//
//	page open      the first view has content, since the service began to start
//	regions there  it has a row for the service's spans, since the first request
//	first rank     the headline names a region, or that none would help
//	first number   a region has an effect with an interval
//
// With -shots it takes pictures of the page, light and dark, 1400 and 360 pixels wide.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/otelprof/otelprof/integration/internal/browser"
)

// A stage is something that the page shows, and how long it may take until it does.
type stage struct {
	name string
	goal time.Duration
	is   string // an expression that is true then
}

var stages = []stage{
	{"page open", 5 * time.Second, `document.querySelector("#main").innerText.length > 0`},
	{"regions there", 8 * time.Second, `document.querySelector("#main").innerText.includes("reserve")`},
	{"first rank", 10 * time.Second, `document.querySelectorAll("table.overview tbody").length > 0 && !document.querySelector(".finding h2").textContent.startsWith("What would help is not known")`},
	{"first number", 20 * time.Second, `[...document.querySelectorAll("td.effect .figure-text")].some((e) => e.textContent.includes("%"))`},
}

// patience is for how long a stage is waited for.
const patience = 90 * time.Second

func main() {
	root := flag.String("root", "..", "`folder` of the root module")
	times := flag.Int("times", 1, "let everything take so many `times` as long, on a machine that does other work as well")
	shots := flag.String("shots", "", "take pictures of the page into this `folder`")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	if !browser.Installed() && os.Getenv("REQUIRE_INTEGRATION") == "" {
		fmt.Println("firstuse: skipped: this machine has no Chromium")
		return
	}
	missed, err := run(ctx, *root, *shots, time.Duration(*times))
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "firstuse:", err)
		os.Exit(2)
	}
	if missed > 0 {
		fmt.Printf("firstuse: goals missed: %d\n", missed)
		os.Exit(1)
	}
}

func run(ctx context.Context, root, shots string, times time.Duration) (missed int, err error) {
	dir, err := os.MkdirTemp("", "firstuse")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	file, err := build(ctx, root, filepath.Join(dir, "service"))
	if err != nil {
		return 0, err
	}
	began := time.Now()
	s, page, err := start(ctx, file)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.Stop()) }()
	b, err := browser.Open(ctx, filepath.Join(dir, "browser"), page)
	if err != nil {
		return 0, err
	}
	defer b.Close()
	for i, st := range stages {
		if i == 1 {
			began = time.Now()
			defer request(ctx, s.Address)()
		}
		took, err := until(b, st, began)
		if err != nil {
			return missed, err
		}
		verdict, goal := "met", st.goal*times
		if took > goal {
			verdict = "MISSED"
			missed++
		}
		fmt.Printf("firstuse %-14s %6.2f s, goal <= %.0f: %s\n", st.name, took.Seconds(), goal.Seconds(), verdict)
	}
	if shots != "" {
		return missed, pictures(b, shots)
	}
	return missed, nil
}

// until waits until the page shows a stage.
func until(b *browser.Browser, st stage, began time.Time) (time.Duration, error) {
	poll := fmt.Sprintf("(() => { try { return Boolean(%s); } catch { return false; } })()", st.is)
	if _, err := chromedp.Run(b.Tab, chromedp.Poll[bool](poll, chromedp.WithPollingTimeout(patience))); err != nil {
		text, _ := chromedp.Run(b.Tab, chromedp.Evaluate[string](`document.querySelector("#main").innerText`))
		return 0, fmt.Errorf("%s: not shown within %v: %w; the page says:\n%s", st.name, patience, err, text)
	}
	return time.Since(began), nil
}

func pictures(b *browser.Browser, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, width := range []int64{browser.Wide, 360} {
		if err := chromedp.Do(b.Tab, chromedp.EmulateViewport(width, browser.Height)); err != nil {
			return err
		}
		for _, scheme := range []string{"light", "dark"} {
			if err := b.Picture(scheme, filepath.Join(dir, fmt.Sprintf("firstuse-%s-%d.png", scheme, width))); err != nil {
				return err
			}
		}
	}
	return nil
}
