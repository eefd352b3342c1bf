package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/otelprof/otelprof/integration/internal/browser"
	"github.com/otelprof/otelprof/integration/internal/command"
)

func main() {
	command.Main("screenshot", func(ctx context.Context) error { return run(ctx, os.Args[1:], os.Stdout) })
}

// settings are the command's flags.
type settings struct {
	out   string
	all   string        // "": the README's picture alone
	after time.Duration // the least time that the shop runs before the first picture
	limit time.Duration
}

func parseFlags(args []string) (settings, error) {
	var s settings
	flags := flag.NewFlagSet("screenshot", flag.ContinueOnError)
	flags.StringVar(&s.out, "out", filepath.Join("docs", "img", "viewer.png"), "`file` of the README's picture")
	flags.StringVar(&s.all, "all", "", "take every view instead, with data, saved and empty, light and dark, 1400 and 400 pixels wide, into this `folder`")
	flags.DurationVar(&s.after, "after", time.Minute, "let the shop run this `time` at least: intervals shrink")
	flags.DurationVar(&s.limit, "limit", 4*time.Minute, "give up after this `time` without numbers")
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	switch {
	case flags.NArg() > 0:
		return s, fmt.Errorf("argument %q: unexpected", flags.Arg(0))
	case s.after < 0 || s.limit <= s.after:
		return s, fmt.Errorf("-after %v, -limit %v: must be in [0, limit)", s.after, s.limit)
	}
	return s, nil
}

func run(ctx context.Context, args []string, out io.Writer) (err error) {
	cfg, err := parseFlags(args)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "screenshot")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	// The shop ends by itself even if this process is gone.
	s, err := startShop(ctx, dir, cfg.limit+5*time.Minute)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Stop()) }()
	if err := s.measured(ctx, cfg.after, cfg.limit); err != nil {
		return err
	}
	opened, err := browser.Open(ctx, filepath.Join(dir, "browser"), s.Address+"/")
	if err != nil {
		return err
	}
	defer opened.Close()
	b := viewing{opened}
	if cfg.all != "" {
		return views(ctx, b, s, dir, cfg.all, out)
	}
	err = b.show(overview, browser.Wide)
	if err == nil {
		err = b.Picture("light", cfg.out)
	}
	if err == nil {
		_, err = fmt.Fprintln(out, cfg.out)
	}
	return err
}
