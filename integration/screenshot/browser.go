package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/otelprof/otelprof/integration/internal/browser"
)

const (
	narrow = 400
	// viewTime is what a view may take to have its data.
	viewTime = 20 * time.Second
	// settle lets bars come to rest.
	settle = 800 * time.Millisecond
)

// A viewing is the viewer, open in a browser.
type viewing struct{ *browser.Browser }

// everything takes all shots of a page, light and dark, wide and narrow, into a folder.
func (b viewing) everything(dir string, p page, out io.Writer) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := chromedp.Do(b.Tab, chromedp.Navigate(p.url)); err != nil {
		return fmt.Errorf("%s: %w", p.url, err)
	}
	for _, s := range p.shots {
		for _, width := range []int64{browser.Wide, narrow} {
			if err := b.show(s, width); err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
			for _, scheme := range []string{"light", "dark"} {
				file := filepath.Join(dir, fmt.Sprintf("%s-%s-%s-%d.png", p.name, s.name, scheme, width))
				if err := b.Picture(scheme, file); err != nil {
					return err
				}
				if _, err := fmt.Fprintln(out, file); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// show opens a view in a window of some width, waits for its data and does in it what the shot
// needs.
func (b viewing) show(s shot, width int64) error {
	// The page changes its view after the script that changes the hash, and not for the same one.
	change := fmt.Sprintf(`new Promise((done) => { location.hash = "#/-"; location.hash = %q; setTimeout(done, 100, true); })`, s.hash)
	err := chromedp.Do(b.Tab, chromedp.EmulateViewport(width, browser.Height))
	if err == nil {
		_, err = chromedp.Run(b.Tab, chromedp.Evaluate[bool](change, chromedp.EvalAwaitPromise))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	ready := `Boolean(document.querySelector("#main").innerText.length > 40 && document.querySelector("#banner").hidden`
	if s.do != "" {
		ready += " && (" + s.do + ")"
	}
	ready += ")"
	if _, err = chromedp.Run(b.Tab, chromedp.Poll[bool](ready, chromedp.WithPollingTimeout(viewTime))); err != nil {
		return fmt.Errorf("%s: shows nothing for %v: %w", s.name, viewTime, err)
	}
	return chromedp.Do(b.Tab, chromedp.Sleep(settle))
}
