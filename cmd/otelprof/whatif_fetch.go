package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/otelprof/otelprof/causal"
	"github.com/otelprof/otelprof/causal/remote"
)

// recordPath is where a viewer is asked to record.
const recordPath = "api/v1/causal/record"

// mostRecordings is how often a program is asked to record until there is a number.
const mostRecordings = 2

// ask reads the curves of mode replay from a viewer, and has the program record where there is no number yet.
func (w *whatif) ask(ctx context.Context, address string) (causal.Profile, error) {
	if w.record < causal.MinWindow || w.record > causal.MaxWindow {
		return causal.Profile{}, usagef("record %v: must be in [%v, %v]", w.record, causal.MinWindow, causal.MaxWindow)
	}
	for asked := 0; ; asked++ {
		p, err := fetchProfile(address, *w.target.timeout)
		if err != nil {
			return causal.Profile{}, fmt.Errorf("%s: %w", address, err)
		}
		p.Curves = slices.DeleteFunc(p.Curves, func(c causal.Curve) bool { return c.Mode != causal.ModeReplay })
		if asked == mostRecordings || slices.ContainsFunc(p.Curves, hasNumber) {
			return p, nil
		}
		if err := w.haveRecorded(ctx, address); err != nil {
			return causal.Profile{}, err
		}
	}
}

func hasNumber(c causal.Curve) bool {
	return slices.ContainsFunc(c.Effects, func(e causal.Effect) bool { return e.Withheld == "" })
}

// haveRecorded asks the program to record once, and waits until that is analysed.
func (w *whatif) haveRecorded(ctx context.Context, address string) error {
	u, err := url.Parse(address)
	if err != nil {
		return withoutPath(err)
	}
	u.Path = strings.TrimSuffix(strings.TrimSuffix(u.Path, "/"), "/"+profilePath)
	u.RawQuery = ""
	opts, err := w.target.options()
	if err != nil {
		return err
	}
	// Analysis takes about as long again.
	wait := *w.target.timeout + 3*w.record
	e, err := remote.NewEndpoint(u.JoinPath(recordPath).String(), schemes, append(opts, remote.WithTimeout(wait))...)
	if err != nil {
		return err
	}
	body, err := json.Marshal(map[string]string{"duration": w.record.Round(time.Millisecond).String()})
	if err != nil {
		return err
	}
	fmt.Fprintf(w.stderr, "recording for %v at %s\n", w.record, address)
	_, err = ask(ctx, e, http.MethodPost, body, nil)
	return err
}
