package stacks

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/otelprof/otelprof/cmd/otelprof/internal/client"
	"github.com/otelprof/otelprof/cmd/otelprof/internal/command"
	"github.com/otelprof/otelprof/spans/stacks"
)

// stacksPath is where a viewer has its recording.
const stacksPath = "api/v1/stacks"

// patience is how much longer than it is asked to an answer may take.
const patience = 10 * time.Second

func secondsFlag(c *command.Call) *int {
	return c.Int("seconds", 30, "`number` of seconds that a URL is asked for, in [1, 3600]")
}

// readRecording reads what a file, standard input or a URL has of the regions of a name, of all if
// that is empty.
func readRecording(c *command.Call, name string, seconds int, region string) (r *stacks.Recording, err error) {
	switch {
	case seconds < 1 || seconds > 3600:
		return nil, command.Usagef("seconds %d: must be in [1, 3600]", seconds)
	case client.IsURL(name):
		r, err = fetchRecording(name, seconds)
	default:
		r, err = client.ReadFile(name, c.Stdin, stacks.Read)
	}
	if err == nil {
		r, err = onlyRegion(r, region)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return r, nil
}

// highRatePath is where a viewer takes samples while we wait.
const (
	highRatePath = stacksPath + "/highrate"
	mostHighRate = 20 // seconds
)

// fetchRecording asks a viewer, or waits for a profile.
func fetchRecording(address string, seconds int) (*stacks.Recording, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, client.WithoutPath(err)
	}
	query, method := u.Query(), http.MethodGet
	high := strings.HasSuffix(u.Path, "/"+highRatePath)
	if high {
		method = http.MethodPost // it has the program sample itself
		seconds = min(seconds, mostHighRate)
	}
	if !strings.HasSuffix(u.Path, "/profile") {
		if !strings.HasSuffix(u.Path, "/"+stacksPath) && !high {
			u = u.JoinPath(stacksPath)
		}
		query.Set("format", "pprof")
	}
	if asked, err := strconv.Atoi(query.Get("seconds")); err == nil && asked >= 1 && asked <= 3600 { // the address has its own
		seconds = asked
	} else {
		query.Set("seconds", strconv.Itoa(seconds))
	}
	u.RawQuery = query.Encode()

	timeout := time.Duration(seconds)*time.Second + patience
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	response, err := client.Ask(ctx, http.DefaultClient, method, u, timeout)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	r, err := stacks.Read(response.Body)
	return r, client.TooSlow(err, timeout)
}
