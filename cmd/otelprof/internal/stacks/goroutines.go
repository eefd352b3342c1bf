package stacks

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/otelprof/otelprof/cmd/otelprof/internal/client"
	"github.com/otelprof/otelprof/cmd/otelprof/internal/command"
	"github.com/otelprof/otelprof/internal/stacks/goroutines"
)

// goroutinesPath is where a viewer shows where all goroutines are.
const goroutinesPath = "api/v1/goroutines"

// showGoroutines prints where the goroutines of a program are, or were.
func showGoroutines(c *command.Call, name, out string, least int) error {
	if client.IsURL(name) {
		return fetchGoroutines(c, name, out, least)
	}
	in := c.Stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return fmt.Errorf("%s: %w", name, client.WithoutPath(err))
		}
		defer f.Close() //nolint:errcheck // Nothing was written.
		in = f
	}
	return writeGoroutines(c, name, in, out, least)
}

func writeGoroutines(c *command.Call, name string, in io.Reader, out string, least int) error {
	dump, err := goroutines.Read(in)
	if err != nil {
		return fmt.Errorf("%s: %w", name, client.WithoutPath(err))
	}
	return c.OutputTo(out, func(w io.Writer) error { return dump.WriteText(w, least) })
}

// fetchGoroutines asks a viewer, which answers as we would write, or reads what net/http/pprof
// answers.
func fetchGoroutines(c *command.Call, address, out string, least int) error {
	u, err := url.Parse(address)
	if err != nil {
		return client.WithoutPath(err)
	}
	ofPprof := strings.HasSuffix(u.Path, "/goroutine")
	query := u.Query()
	if ofPprof {
		query.Set("debug", "2")
	} else {
		if !strings.HasSuffix(u.Path, "/"+goroutinesPath) {
			u = u.JoinPath(goroutinesPath)
		}
		query.Set("least", strconv.Itoa(least))
	}
	u.RawQuery = query.Encode()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return client.WithoutPath(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("%s: %w", address, client.NoAnswer(err, patience))
	}
	defer response.Body.Close()
	if err := client.CheckOK(response); err != nil {
		return fmt.Errorf("%s: %w", address, err)
	}
	if ofPprof {
		return writeGoroutines(c, address, response.Body, out, least)
	}
	return c.OutputTo(out, func(w io.Writer) error {
		_, err := io.Copy(w, io.LimitReader(response.Body, 64<<20))
		return client.TooSlow(err, patience)
	})
}
