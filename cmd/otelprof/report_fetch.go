package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/otelprof/otelprof/causal/profile"
)

// profilePath is where a viewer has its profile.
const profilePath = "api/v1/causal/profile"

// fetchProfile reads the profile of a viewer at a URL, whose last part may be left out. It asks
// for the samples, without which profiles cannot be merged.
func fetchProfile(address string, timeout time.Duration) (profile.Profile, error) {
	u, err := url.Parse(address)
	if err != nil {
		return profile.Profile{}, withoutPath(err)
	}
	if !strings.HasSuffix(u.Path, "/"+profilePath) && !strings.HasSuffix(u.Path, ".json") {
		u = u.JoinPath(profilePath)
	}
	if query := u.Query(); strings.HasSuffix(u.Path, profilePath) && !query.Has("samples") {
		query.Set("samples", "1")
		u.RawQuery = query.Encode()
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return profile.Profile{}, withoutPath(err)
	}
	request.Header.Set("Accept", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return profile.Profile{}, tooSlow(err, timeout)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return profile.Profile{}, fmt.Errorf("answer %s: must be 200", response.Status)
	}
	p, err := profile.Read(response.Body)
	return p, tooSlow(err, timeout)
}

// tooSlow says in plain words that the time was over.
func tooSlow(err error, timeout time.Duration) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("no answer within %v: %w", timeout, context.DeadlineExceeded)
	}
	return withoutPath(err)
}

// withoutPath takes out the name of what was opened, which the caller says.
func withoutPath(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err
	}
	if address, ok := errors.AsType[*url.Error](err); ok {
		return address.Err
	}
	return err
}
