package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/otelprof/otelprof/causal"
)

// showProgress writes on w what goes on, with a bar if w is a terminal and with a line
// now and then if not. The function it returns ends that.
func showProgress(w io.Writer, duration time.Duration, l *load, controller *causal.Controller) (done func()) {
	every, show, finish := 5*time.Second, func(text string) { fmt.Fprintln(w, text) }, func() {}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		bar := newBar(w, duration)
		start := time.Now()
		every = 200 * time.Millisecond
		show = func(text string) {
			bar.Describe(text)
			// A bar that cannot be drawn is no reason to end.
			_ = bar.Set64(min(time.Since(start).Milliseconds(), bar.GetMax64()))
		}
		finish = func() { _ = bar.Finish() }
	}

	stop := make(chan struct{})
	var shown sync.WaitGroup
	shown.Go(func() {
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for last := int64(0); ; {
			select {
			case <-stop:
				return
			case <-ticker.C:
			}
			orders := l.Orders.Load()
			status := controller.Status()
			show(fmt.Sprintf("%d orders, %.0f/s; %d recordings; experiments: %s",
				orders, float64(orders-last)/every.Seconds(), status.Recording.Recordings, status.State))
			last = orders
		}
	})
	return func() {
		close(stop)
		shown.Wait()
		finish()
	}
}

func newBar(w io.Writer, duration time.Duration) *progressbar.ProgressBar {
	milliseconds := int64(-1) // a spinner
	if duration > 0 {
		milliseconds = duration.Milliseconds()
	}
	return progressbar.NewOptions64(milliseconds,
		progressbar.OptionSetWriter(w),
		progressbar.OptionSetWidth(24),
		progressbar.OptionSetElapsedTime(false),
		progressbar.OptionSetPredictTime(false),
		progressbar.OptionClearOnFinish())
}
