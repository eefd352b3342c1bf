package whatif

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/otelprof/otelprof/causal"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/causal/remote"
	"github.com/otelprof/otelprof/cmd/otelprof/internal/client"
	"github.com/otelprof/otelprof/cmd/otelprof/internal/command"
	"github.com/otelprof/otelprof/cmd/otelprof/internal/plans"
	"github.com/otelprof/otelprof/internal/http/planhttp"
	"github.com/otelprof/otelprof/internal/naming"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

const (
	// recordPath is where a viewer is asked to record, and tracePath to hand out what was recorded.
	recordPath = "api/v1/causal/record"
	tracePath  = "api/v1/causal/trace"
	// pollInterval is how often a program is asked that records of its own accord.
	pollInterval = 2 * time.Second
)

// ask reads the profile of a viewer. A program that has no number yet is asked to record, or, if
// that takes a token that is not there, it records of its own accord once a page or command asks;
// both may take as long as wait.
func (w *whatif) ask(ctx context.Context, address string) (profile.Profile, error) {
	if err := w.checkTimes(); err != nil {
		return profile.Profile{}, err
	}
	deadline := time.Now().Add(w.wait)
	waiting := false
	for {
		p, err := client.FetchProfile(w.http, address, *w.target.Timeout)
		if err != nil {
			return profile.Profile{}, fmt.Errorf("%s: %w", address, err)
		}
		if slices.ContainsFunc(p.Curves, hasNumber) || time.Now().After(deadline) {
			return p, nil
		}
		if !waiting {
			err := w.haveRecorded(ctx, address)
			if err == nil {
				continue
			}
			// Without TLS nothing is asked of another machine, since a token would go with it.
			refused, ok := errors.AsType[plans.Refusal](err)
			if (!ok || refused.Status < 400 || refused.Status >= 500) && !errors.Is(err, planhttp.ErrConfig) {
				return profile.Profile{}, err
			}
			waiting = true
			hint := ""
			if refused.Status == http.StatusUnauthorized || refused.Status == http.StatusForbidden {
				hint = "with the viewer's token in " + plans.EnvToken + " it makes one at once: "
			}
			fmt.Fprintf(w.Stderr, "waiting for the program's first recording, which it makes of its own accord, for %v at most (%s%v)\n", w.wait, hint, err)
		}
		time.Sleep(pollInterval)
	}
}

const (
	// mostRecord is the longest recording that a viewer takes, and mostTimeout the longest time
	// that a request may.
	mostRecord  = 10 * time.Second
	mostTimeout = time.Minute
)

func hasNumber(c profile.Curve) bool {
	return slices.ContainsFunc(c.Effects, profile.Effect.Known)
}

// checkTimes checks the flags about a program that runs.
func (w *whatif) checkTimes() error {
	switch {
	case w.record < causal.MinWindow || w.record > mostRecord:
		return command.Usagef("record %v: must be in [%v, %v]", w.record, causal.MinWindow, mostRecord)
	case w.wait < 0:
		return command.Usagef("wait %v: must not be negative", w.wait)
	}
	return nil
}

// haveRecorded asks the program to record once, and waits until that is analysed.
func (w *whatif) haveRecorded(ctx context.Context, address string) error {
	_, err := w.post(ctx, address, recordPath, url.Values{}, plans.MaxAnswer)
	return err
}

// mostTrace is how large a trace may be: a viewer's is cut at 64 MiB, and has an end behind that.
const mostTrace = 80 << 20

// fetchTrace has the program recorded, and reads the trace. Questions about functions take samples
// of a CPU profile.
func (w *whatif) fetchTrace(ctx context.Context, address string) (*trace.Recording, error) {
	query := url.Values{}
	if w.function != "" {
		query.Set("samples", "1")
	}
	a, err := w.post(ctx, address, tracePath, query, mostTrace)
	if err != nil {
		return nil, err
	}
	rec, err := trace.Read(bytes.NewReader(a.Body))
	if err != nil {
		return nil, err
	}
	var machine causal.Machine
	if err := json.Unmarshal([]byte(a.Header.Get(naming.HeaderMachine)), &machine); err != nil {
		return nil, fmt.Errorf("header %s: %w", naming.HeaderMachine, err)
	}
	rec.Ran(trace.Machine(machine))
	return rec, nil
}

// viewerURL is that of a viewer, of which the address may be its profile's.
func viewerURL(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, client.WithoutPath(err)
	}
	u.Path = strings.TrimSuffix(strings.TrimSuffix(u.Path, "/"), "/"+client.ProfilePath)
	return u, nil
}

// post asks a viewer for a recording as long as -record.
func (w *whatif) post(ctx context.Context, address, path string, query url.Values, limit int64) (planhttp.Answer, error) {
	u, err := viewerURL(address)
	if err != nil {
		return planhttp.Answer{}, err
	}
	u = u.JoinPath(path)
	query.Set("duration", w.record.String())
	u.RawQuery = query.Encode()
	opts, err := w.target.Options()
	if err != nil {
		return planhttp.Answer{}, err
	}
	// Analysis takes some time, too.
	timeout := min(max(*w.target.Timeout+2*w.record, w.wait), mostTimeout)
	e, err := planhttp.New(u.String(), plans.Schemes, append(opts, remote.WithTimeout(timeout))...)
	if err != nil {
		return planhttp.Answer{}, err
	}
	a, err := plans.AskFor(ctx, e, http.MethodPost, nil, nil, limit)
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("%w: no answer within %v: a shorter -record takes less time to analyse", err, timeout)
	}
	return a, err
}
