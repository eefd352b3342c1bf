// Package browser has Chromium show a page and take pictures of it.
package browser

import (
	"context"
	"fmt"
	"os"
	"os/exec"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

const (
	// Wide is the width of a window, and Height the least that a picture has; a page that is longer
	// is shown whole.
	Wide   = 1400
	Height = 700
)

// Installed reports whether there is a Chromium.
func Installed() bool {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if _, err := exec.LookPath(name); err == nil {
			return true
		}
	}
	return false
}

// A Browser has one page open.
type Browser struct {
	Tab   context.Context //nolint:containedctx // chromedp keeps the tab in it
	close func()
}

// Open starts Chromium, with its profile in a folder, on a page. Close is to be called.
func Open(ctx context.Context, dir, url string) (*Browser, error) {
	ctx, endBrowser := chromedp.NewExecAllocator(ctx, chromedp.Headless, chromedp.NoSandbox, chromedp.NoFirstRun, chromedp.DisableGPU,
		chromedp.UserDataDir(dir), chromedp.WindowSize(Wide, Height), chromedp.Flag("hide-scrollbars", true),
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true))
	ctx, endTab := chromedp.NewContext(ctx)
	b := &Browser{Tab: ctx, close: func() {
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

// Close ends Chromium.
func (b *Browser) Close() { b.close() }

// Picture takes one picture of what is shown into a file.
func (b *Browser) Picture(scheme, file string) error {
	err := chromedp.Do(b.Tab, chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
		})
		return err
	}))
	var png []byte
	if err == nil {
		png, err = chromedp.Run(b.Tab, chromedp.FullScreenshot(100))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return os.WriteFile(file, png, 0o644)
}
