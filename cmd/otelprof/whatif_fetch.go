package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/otelprof/otelprof/causal"
	"github.com/otelprof/otelprof/causal/remote"
)

const (
	// recordPath is where a viewer is asked to record.
	recordPath = "api/v1/causal/record"
	// pollInterval is how often a program is asked that records of its own accord.
	pollInterval = 2 * time.Second
)

// ask reads the curves of mode replay from a viewer. A program that has no number yet is asked to record, or, if that takes a
// token that is not there, it records of its own accord once somebody looks; both may take as long as wait says.
func (w *whatif) ask(ctx context.Context, address string) (causal.Profile, error) {
	switch {
	case w.record < causal.MinWindow || w.record > mostRecord:
		return causal.Profile{}, usagef("record %v: must be in [%v, %v]", w.record, causal.MinWindow, mostRecord)
	case w.wait < 0:
		return causal.Profile{}, usagef("wait %v: must not be negative", w.wait)
	}
	deadline := time.Now().Add(w.wait)
	waiting := false
	for {
		p, err := fetchProfile(address, *w.target.timeout)
		if err != nil {
			return causal.Profile{}, fmt.Errorf("%s: %w", address, err)
		}
		p.Curves = slices.DeleteFunc(p.Curves, func(c causal.Curve) bool { return c.Mode != causal.ModeReplay })
		if slices.ContainsFunc(p.Curves, hasNumber) || time.Now().After(deadline) {
			return p, nil
		}
		if !waiting {
			err := w.haveRecorded(ctx, address)
			if err == nil {
				continue
			}
			if refused, ok := errors.AsType[refusal](err); !ok || refused.status < 400 || refused.status >= 500 {
				return causal.Profile{}, err
			}
			waiting = true
			fmt.Fprintf(w.stderr, "waiting for the program's own recordings, for %v at most: %v\n", w.wait, err)
		}
		time.Sleep(pollInterval)
	}
}

// mostRecord is the longest recording that a viewer takes.
const mostRecord = 10 * time.Second

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
	u = u.JoinPath(recordPath)
	u.RawQuery = url.Values{"duration": {w.record.String()}}.Encode()
	opts, err := w.target.options()
	if err != nil {
		return err
	}
	// Analysis takes some time, too.
	e, err := remote.NewEndpoint(u.String(), schemes, append(opts, remote.WithTimeout(*w.target.timeout+2*w.record))...)
	if err != nil {
		return err
	}
	_, err = ask(ctx, e, http.MethodPost, nil, nil)
	return err
}
