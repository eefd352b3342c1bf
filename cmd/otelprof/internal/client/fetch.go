// Package client reads what commands are given: files, and answers of viewers.
package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/otelprof/otelprof/causal/profile"
)

// ProfilePath is where a viewer has its profile.
const ProfilePath = "api/v1/causal/profile"

// FetchProfile reads the profile of a viewer at a URL, whose last part may be left out. It asks
// for the samples, without which profiles cannot be merged.
func FetchProfile(c *http.Client, address string, timeout time.Duration) (profile.Profile, error) {
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
	response, err := Ask(ctx, c, http.MethodGet, u, timeout)
	if err != nil {
		return profile.Profile{}, err
	}
	defer response.Body.Close()
	p, err := profile.Read(response.Body)
	return p, TooSlow(err, timeout)
}

// mostReason is how much is read of why an answer is not 200.
const mostReason = 4 << 10

// Ask sends a request without a body, and returns an answer of status 200, whose body the caller
// closes. Any other answer is an error, with the reason in it; timeout is what an error has of the
// time that ctx or c allow.
func Ask(ctx context.Context, c *http.Client, method string, u *url.URL, timeout time.Duration) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, u.String(), http.NoBody)
	if err != nil {
		return nil, WithoutPath(err)
	}
	request.Header.Set("Accept", "application/json, */*")
	response, err := c.Do(request)
	if err != nil {
		return nil, NoAnswer(err, timeout)
	}
	if response.StatusCode == http.StatusOK {
		return response, nil
	}
	defer response.Body.Close()
	said, _ := io.ReadAll(io.LimitReader(response.Body, mostReason)) // the status is enough
	return nil, fmt.Errorf("answer %s: must be 200: %s", response.Status, Reason(said))
}

// Reason is the error in a viewer's JSON, or a plan server's plain text.
func Reason(answer []byte) string {
	var v struct{ Error string }
	if json.Unmarshal(answer, &v) == nil && v.Error != "" {
		return v.Error
	}
	return strings.TrimSpace(string(answer[:min(len(answer), mostReason)]))
}

// NoAnswer is [TooSlow] of a viewer: where there is no connection, it names what that takes.
func NoAnswer(err error, timeout time.Duration) error {
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		return fmt.Errorf("%w: the program must run, and serve the page there by OTELPROF_VIEWER", WithoutPath(err))
	}
	return TooSlow(err, timeout)
}

// TooSlow is the error where the time was over, in plain words.
func TooSlow(err error, timeout time.Duration) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("no answer within %v: %w", timeout, context.DeadlineExceeded)
	}
	return WithoutPath(err)
}

// WithoutPath takes out the name of what was opened, which the caller adds.
func WithoutPath(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err
	}
	if address, ok := errors.AsType[*url.Error](err); ok {
		return address.Err
	}
	return err
}

// EnvURL names the viewer that is asked where a command is given none.
const EnvURL = "OTELPROF_URL"

// IsURL reports whether a name is that of a server: a URL, or HOST:PORT and perhaps a path.
func IsURL(name string) bool {
	if strings.HasPrefix(name, "http://") || strings.HasPrefix(name, "https://") {
		return true
	}
	address, _, _ := strings.Cut(name, "/")
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	_, err = strconv.ParseUint(port, 10, 16)
	return err == nil
}

// URL returns a name as it is, HOST:PORT with a scheme, and for none that in OTELPROF_URL.
func URL(name string) string {
	name = cmp.Or(name, os.Getenv(EnvURL))
	switch {
	case !IsURL(name) || strings.Contains(name, "://"):
		return name
	case name[0] == ':':
		return "http://localhost" + name
	}
	return "http://" + name
}

// Names returns the arguments of a command, each as [URL] does, and for none that in OTELPROF_URL.
func Names(args []string) (names []string) {
	if len(args) == 0 && os.Getenv(EnvURL) != "" {
		return []string{URL("")}
	}
	for _, arg := range args {
		names = append(names, URL(arg))
	}
	return names
}

// WarnOfRepeats writes the names that are given more than once: what is pooled counts each twice.
func WarnOfRepeats(w io.Writer, names []string) {
	times := map[string]int{}
	for _, name := range names {
		if times[filepath.Clean(name)]++; times[filepath.Clean(name)] == 2 {
			fmt.Fprintf(w, "otelprof: %s is given twice: intervals are too narrow\n", name)
		}
	}
}

// ReadFile has a file, or in for "-", read. Its errors leave out the name, which the caller adds.
func ReadFile[T any](name string, in io.Reader, read func(io.Reader) (T, error)) (v T, err error) {
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return v, WithoutPath(err)
		}
		defer f.Close() //nolint:errcheck // Nothing was written.
		in = f
	}
	v, err = read(in)
	return v, WithoutPath(err)
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
