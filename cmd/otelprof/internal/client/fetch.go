// Package client reads what commands are given: files, and answers of viewers.
package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/otelprof/otelprof/causal/profile"
)

// ProfilePath is where a viewer has its profile.
const ProfilePath = "api/v1/causal/profile"

// FetchProfile reads the profile of a viewer at a URL, whose last part may be left out. It asks
// for the samples, without which profiles cannot be merged.
func FetchProfile(address string, timeout time.Duration) (profile.Profile, error) {
	u, err := url.Parse(address)
	if err != nil {
		return profile.Profile{}, WithoutPath(err)
	}
	if !strings.HasSuffix(u.Path, "/"+ProfilePath) && !strings.HasSuffix(u.Path, ".json") {
		u = u.JoinPath(ProfilePath)
	}
	if query := u.Query(); strings.HasSuffix(u.Path, ProfilePath) && !query.Has("samples") {
		query.Set("samples", "1")
		u.RawQuery = query.Encode()
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return profile.Profile{}, WithoutPath(err)
	}
	request.Header.Set("Accept", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return profile.Profile{}, TooSlow(err, timeout)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return profile.Profile{}, fmt.Errorf("answer %s: must be 200", response.Status)
	}
	p, err := profile.Read(response.Body)
	return p, TooSlow(err, timeout)
}

// TooSlow says in plain words that the time was over.
func TooSlow(err error, timeout time.Duration) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("no answer within %v: %w", timeout, context.DeadlineExceeded)
	}
	return WithoutPath(err)
}

// WithoutPath takes out the name of what was opened, which the caller says.
func WithoutPath(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err
	}
	if address, ok := errors.AsType[*url.Error](err); ok {
		return address.Err
	}
	return err
}

// IsURL reports whether a name is that of a server.
func IsURL(name string) bool {
	return strings.HasPrefix(name, "http://") || strings.HasPrefix(name, "https://")
}

// ReadLimited reads a file that has at most atMost bytes.
func ReadLimited(name string, atMost int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, WithoutPath(err))
	}
	defer f.Close() //nolint:errcheck // Nothing was written.
	return Limited(name, f, atMost)
}

func Limited(name string, r io.Reader, atMost int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, atMost+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, WithoutPath(err))
	}
	if int64(len(b)) > atMost {
		return nil, fmt.Errorf("%s: must have at most %d bytes", name, atMost)
	}
	return b, nil
}
