package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

const (
	wide, narrow = 1400, 400
	// height is the least that a picture has; a page that is longer is shown whole.
	height = 700
	// viewTime is what a view may take to have its data.
	viewTime = 20 * time.Second
	// settle lets bars come to rest.
	settle = 800 * time.Millisecond
)

// A browser has the viewer open.
type browser struct {
	ctx   context.Context //nolint:containedctx // chromedp keeps the tab in it
	close func()
}

// openBrowser starts Chromium, with its profile in a folder, on the viewer.
func openBrowser(ctx context.Context, dir, url string) (*browser, error) {
	ctx, endBrowser := chromedp.NewExecAllocator(ctx, chromedp.Headless, chromedp.NoSandbox, chromedp.NoFirstRun, chromedp.DisableGPU,
		chromedp.UserDataDir(dir), chromedp.WindowSize(wide, height), chromedp.Flag("hide-scrollbars", true),
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true))
	ctx, endTab := chromedp.NewContext(ctx)
	b := &browser{ctx: ctx, close: func() {
		_ = chromedp.Cancel(ctx) // waits for the browser to end; the pictures are taken
		endTab()
		endBrowser()
	}}
	if err := chromedp.Do(ctx, chromedp.Navigate(url)); err != nil {
		b.close()
		return nil, fmt.Errorf("chromium: %s: %w", url, err)
	}
	return b, nil
}

// everything takes all shots of a page, light and dark, wide and narrow, into a folder.
func (b *browser) everything(dir string, p page, out io.Writer) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := chromedp.Do(b.ctx, chromedp.Navigate(p.url)); err != nil {
		return fmt.Errorf("%s: %w", p.url, err)
	}
	for _, s := range p.shots {
		for _, width := range []int64{wide, narrow} {
			if err := b.show(s, width); err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
			for _, scheme := range []string{"light", "dark"} {
				file := filepath.Join(dir, fmt.Sprintf("%s-%s-%s-%d.png", p.name, s.name, scheme, width))
				if err := b.picture(scheme, file); err != nil {
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
func (b *browser) show(s shot, width int64) error {
	// The page changes its view after the script that changes the hash, and not for the same one.
	change := fmt.Sprintf(`new Promise((done) => { location.hash = "#/-"; location.hash = %q; setTimeout(done, 100, true); })`, s.hash)
	err := chromedp.Do(b.ctx, chromedp.EmulateViewport(width, height))
	if err == nil {
		_, err = chromedp.Run(b.ctx, chromedp.Evaluate[bool](change, chromedp.EvalAwaitPromise))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	ready := `Boolean(document.querySelector("#main").innerText.length > 40 && document.querySelector("#banner").hidden`
	if s.do != "" {
		ready += " && (" + s.do + ")"
	}
	ready += ")"
	if _, err = chromedp.Run(b.ctx, chromedp.Poll[bool](ready, chromedp.WithPollingTimeout(viewTime))); err != nil {
		return fmt.Errorf("%s: shows nothing for %v: %w", s.name, viewTime, err)
	}
	return chromedp.Do(b.ctx, chromedp.Sleep(settle))
}

// picture takes one picture of what is shown into a file.
func (b *browser) picture(scheme, file string) error {
	err := chromedp.Do(b.ctx, chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
		})
		return err
	}))
	var png []byte
	if err == nil {
		png, err = chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return os.WriteFile(file, png, 0o644)
}
