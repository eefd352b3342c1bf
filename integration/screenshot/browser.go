package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
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
	settle = 600 * time.Millisecond
)

// A browser has the viewer open.
type browser struct {
	ctx   context.Context //nolint:containedctx // chromedp keeps the tab in it
	close func()
}

// A shot is a view as it is to be seen.
type shot struct {
	hash, scheme string
	width        int64
}

// name is a file's: "sessions-dark-400.png". One session of the list is "session".
func (s shot) name() string {
	view, id, _ := strings.Cut(strings.TrimPrefix(s.hash, "#/"), "/")
	switch {
	case view == "":
		view = "overview"
	case view == "sessions" && id != "":
		view = "session"
	}
	return fmt.Sprintf("%s-%s-%d.png", view, s.scheme, s.width)
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

// everything takes every view that the page links to, and the first session of the list.
func (b *browser) everything(dir string, out io.Writer) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	hashes, err := chromedp.Run(b.ctx, chromedp.Evaluate[[]string](`[...document.querySelectorAll("nav [data-view]")].map((a) => a.hash)`))
	if err != nil {
		return err
	}
	if err := b.open("#/sessions"); err != nil {
		return err
	}
	session, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](`document.querySelector('#main a[href^="#/sessions/"]')?.hash ?? ""`))
	if err != nil {
		return err
	}
	if session != "" {
		hashes = append(hashes, session)
	}
	for _, hash := range hashes {
		for _, scheme := range []string{"light", "dark"} {
			for _, width := range []int64{wide, narrow} {
				s := shot{hash: hash, scheme: scheme, width: width}
				file := filepath.Join(dir, s.name())
				if err := b.picture(s, file); err != nil {
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

// open shows a view and waits for its data.
func (b *browser) open(hash string) error {
	// The page changes its view after the script that changes the hash, and not in it.
	change := fmt.Sprintf("new Promise((done) => { location.hash = %q; setTimeout(done, 100, true); })", hash)
	if _, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](change, chromedp.EvalAwaitPromise)); err != nil {
		return fmt.Errorf("%s: %w", hash, err)
	}
	_, err := chromedp.Run(b.ctx, chromedp.Poll[bool](`document.querySelector("#main").innerText.length > 40 && document.querySelector("#banner").hidden`,
		chromedp.WithPollingTimeout(viewTime)))
	if err != nil {
		return fmt.Errorf("%s: shows nothing for %v: %w", hash, viewTime, err)
	}
	return chromedp.Do(b.ctx, chromedp.Sleep(settle))
}

// picture takes one picture into a file.
func (b *browser) picture(s shot, file string) error {
	err := chromedp.Do(b.ctx, chromedp.EmulateViewport(s.width, height), chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: s.scheme}},
		})
		return err
	}))
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if err := b.open(s.hash); err != nil {
		return err
	}
	png, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return os.WriteFile(file, png, 0o644)
}
