// Package report is the command report: profiles as tables, JSON, Coz files and pictures, from
// files, viewers and Prometheus.
package report

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/cmd/otelprof/internal/client"
	"github.com/otelprof/otelprof/cmd/otelprof/internal/command"
	"github.com/otelprof/otelprof/internal/explain/fleet"
)

var Command = &command.Command{
	Name:  "report",
	Args:  "[FILE|URL…]",
	Short: "Render causal profiles: what speeding up a region would bring",
	Long: `
A FILE is a profile as JSON; - is standard input. A URL, or HOST:PORT, is that of a viewer, or of
its /api/v1/causal/profile; without an argument it is that in OTELPROF_URL. Several profiles are
merged: their samples are pooled, and what processes counted for a plan with timing.epoch adds up.
One of several URLs that does not answer is left out, with a note. docs/causal.md says how to read
what comes out.

With -prometheus the profile is put together from the metrics that programs have exported: the
effects of one instance are its own, those of several their mean, weighted by the inverse
squares of their intervals.
`,
	Run: func(c *command.Call) error {
		name := c.String("format", "", "`format`: table, json, csv, svg or coz; by default that of the file's extension, or table")
		out := c.String("o", "-", "`file` to write, - for standard output")
		timeout := c.Duration("timeout", 10*time.Second, "`time` that each URL may take")
		prometheus := c.String("prometheus", "", "`URL` of a Prometheus, in place of files")
		match := c.String("match", "", "`matchers` of its series, as in job=\"shop\"")
		at := c.String("at", "", "`time` of which Prometheus is asked, as in 2026-01-02T15:04:05Z; by default now")
		if err := c.ParseArgs(0, -1); err != nil {
			return err
		}
		names := client.Names(c.Args())
		switch {
		case *prometheus == "" && len(names) == 0:
			return command.Usagef("0 arguments: must be at least 1: the URL of a viewer, or profiles")
		case *prometheus != "" && c.NArg() > 0:
			return command.Usagef("argument %q: must not be beside -prometheus", c.Arg(0))
		case *prometheus == "" && (*match != "" || *at != ""):
			return command.Usagef("match, at: must be beside -prometheus")
		}
		if *timeout <= 0 {
			return command.Usagef("timeout %v: must be above 0", *timeout)
		}
		format, err := command.Format(*name, *out, map[string]string{"": "table", "txt": "table"}, []string{"table", "json", "csv", "svg", "coz"})
		if err != nil {
			return err
		}
		var p profile.Profile
		if *prometheus != "" {
			p, err = fromPrometheus(fleet.Prometheus{URL: client.URL(*prometheus), Match: *match, At: *at}, *timeout)
		} else {
			p, err = readProfiles(c, names, *timeout)
		}
		if err != nil {
			return err
		}
		return c.OutputTo(*out, func(w io.Writer) error { return profileFormats[format](p, w) })
	},
}

func fromPrometheus(server fleet.Prometheus, timeout time.Duration) (profile.Profile, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	p, err := server.Profile(ctx)
	return p, client.TooSlow(err, timeout)
}

// profileFormats are the renderings, by name.
var profileFormats = map[string]func(profile.Profile, io.Writer) error{
	"table": profile.Profile.WriteTable,
	"json":  profile.Profile.WriteJSON,
	"csv":   writeCSV,
	"svg":   profile.Profile.WriteSVG,
	"coz":   profile.Profile.WriteCoz,
}

// readProfiles reads and merges profiles.
func readProfiles(c *command.Call, names []string, timeout time.Duration) (profile.Profile, error) {
	if i := slices.Index(names, "-"); i >= 0 && slices.Contains(names[i+1:], "-") {
		return profile.Profile{}, command.Usagef("-: must be given once")
	}
	client.WarnOfRepeats(c.Stderr, names)
	profiles, errs := client.Each(names, func(name string) (profile.Profile, error) { return readProfile(c, name, timeout) })
	var found []profile.Profile
	var notes []string
	for i, name := range names {
		switch err := errs[i]; {
		case err == nil:
			found = append(found, profiles[i])
		case client.IsURL(name) && slices.Contains(errs, nil): // one of many instances may be gone
			notes = append(notes, fmt.Sprintf("%s is left out: %v", name, err))
		default:
			return profile.Profile{}, fmt.Errorf("%s: %w", name, err)
		}
	}
	p := profile.Merge(found...)
	p.Notes = append(slices.Clip(p.Notes), notes...)
	return p, nil
}

func readProfile(c *command.Call, name string, timeout time.Duration) (profile.Profile, error) {
	if client.IsURL(name) {
		return client.FetchProfile(http.DefaultClient, name, timeout)
	}
	return client.ReadFile(name, c.Stdin, profile.Read)
}
