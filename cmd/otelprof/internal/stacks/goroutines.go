package stacks

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
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
	dump, err := client.ReadFile(name, c.Stdin, goroutines.Read)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return writeGoroutines(c, dump, out, least)
}

func writeGoroutines(c *command.Call, dump *goroutines.Dump, out string, least int) error {
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
	response, err := client.Ask(ctx, http.DefaultClient, http.MethodGet, u, patience)
	if err != nil {
		return fmt.Errorf("%s: %w", address, err)
	}
	defer response.Body.Close()
	if ofPprof {
		dump, err := goroutines.Read(response.Body)
		if err != nil {
			return fmt.Errorf("%s: %w", address, client.WithoutPath(err))
		}
		return writeGoroutines(c, dump, out, least)
	}
	return c.OutputTo(out, func(w io.Writer) error {
		_, err := io.Copy(w, io.LimitReader(response.Body, 64<<20))
		return client.TooSlow(err, patience)
	})
}
