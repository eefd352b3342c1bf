// Package top is the command top: regions of a running program, in a terminal.
package top

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/otelprof/otelprof/cmd/otelprof/internal/client"
	"github.com/otelprof/otelprof/cmd/otelprof/internal/command"
)

var Command = &command.Command{
	Name:  "top",
	Args:  "[URL]",
	Short: "Show the regions of a running program, live",
	Long: `
The program serves a viewer: OTELPROF_VIEWER=127.0.0.1:8080, or otelprof.WithViewer. Its URL, or
HOST:PORT, is by default that in OTELPROF_URL, or http://127.0.0.1:8080. All figures but ipc and
effect are of the window: the last ten seconds, the last minute, or since the program started.

Keys: q ends, s sorts by the next column, r by the one before, w steps through the windows,
/ filters by name, space holds still. Where standard output is no terminal, one table is printed,
since the start unless -window says otherwise.
`,
	Run: func(c *command.Call) error {
		f := topFlags{
			url:      c.String("url", "", "`URL` of the viewer, in place of the argument"),
			interval: c.Duration("interval", time.Second, "`time` from poll to poll"),
			sort:     c.String("sort", "self", "`column` to sort by: "+strings.Join(topSorts, ", ")),
			window:   c.String("window", "", "`time` that is shown: 10s, 1m or start; by default 10s, and start for one table"),
			filter:   c.String("filter", "", "show regions with this `text` in name or scope"),
			rows:     c.Int("n", 20, "`number` of regions, 0 for as many as fit"),
			once:     c.Bool("once", false, "print one table and end"),
			json:     c.Bool("json", false, "print JSON, once; -n 0 for all regions"),
			csv:      c.Bool("csv", false, "print CSV, once; -n 0 for all regions"),
		}
		if err := c.ParseArgs(0, 1); err != nil {
			return err
		}
		if err := f.check(); err != nil {
			return err
		}
		address, err := c.ArgOr(0, "url", *f.url)
		if err != nil {
			return err
		}
		*f.url = cmp.Or(client.URL(address), defaultURL)
		viewer, err := newTopClient(*f.url)
		if err != nil {
			return command.Usagef("url %q: %v", *f.url, err)
		}
		defer viewer.close()
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		once := *f.once || *f.json || *f.csv || !command.IsTerminal(c)
		if *f.window == "" {
			if *f.window = "10s"; once {
				*f.window = "start"
			}
		}
		if once {
			return printTop(ctx, c, viewer, f)
		}
		return watchTop(ctx, c, viewer, f)
	},
}

// defaultURL is where the viewer is in README.md.
const defaultURL = "http://127.0.0.1:8080"

type topFlags struct {
	url, sort, window, filter *string
	interval                  *time.Duration
	rows                      *int
	once, json, csv           *bool
}

const leastTopInterval = 100 * time.Millisecond

func (f topFlags) check() error {
	switch {
	case *f.interval < leastTopInterval || *f.interval > time.Hour:
		return command.Usagef("interval %v: must be in [%v, 1h]", *f.interval, leastTopInterval)
	case !slices.Contains(topSorts, *f.sort):
		return command.Usagef("sort %q: must be one of %v", *f.sort, topSorts)
	case *f.window != "" && !slices.ContainsFunc(topWindows, func(w topWindow) bool { return w.name == *f.window }):
		return command.Usagef("window %q: must be 10s, 1m or start", *f.window)
	case *f.json && *f.csv:
		return command.Usagef("-json and -csv: must not both be given")
	case *f.rows < 0:
		return command.Usagef("n %d: must not be negative", *f.rows)
	}
	return nil
}

// errInterrupted is that of a table that has no end of its window.
var errInterrupted = errors.New("interrupted before the end of the window")

// printTop prints one table: two polls, so that there are rates, as far apart as the window is
// long.
func printTop(ctx context.Context, c *command.Call, client *topClient, f topFlags) error {
	window, _ := topWindowNamed(*f.window)
	poll := func() (topPoll, error) {
		p, err := client.poll(ctx)
		switch {
		case ctx.Err() != nil:
			return p, errInterrupted
		case err != nil:
			return p, fmt.Errorf("%s: %w", *f.url, err)
		}
		return p, nil
	}
	first, err := poll()
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
	case <-time.After(max(*f.interval, window.length)):
	}
	second, err := poll()
	if err != nil {
		return err
	}
	from := first
	if window.length == 0 {
		from = topPoll{}
	}
	t := topTable{rows: second.rows(from, first), sort: *f.sort, filter: *f.filter, most: *f.rows}
	switch {
	case *f.json:
		return t.writeJSON(c.Stdout, window.name)
	case *f.csv:
		return t.writeCSV(c.Stdout)
	}
	out := bufio.NewWriter(c.Stdout)
	for _, line := range t.lines(topWidth(c.Stdout, 0)) {
		fmt.Fprintln(out, strings.TrimRight(line, " "))
	}
	return out.Flush()
}

// watchTop draws until the user or a signal ends it, and puts the terminal back.
func watchTop(ctx context.Context, c *command.Call, client *topClient, f topFlags) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	out := c.Stdout.(*os.File)
	keys := make(chan byte)
	if in, ok := c.Stdin.(*os.File); ok && term.IsTerminal(int(in.Fd())) {
		before, errRaw := term.MakeRaw(int(in.Fd()))
		if errRaw == nil {
			defer func() { err = errors.Join(err, term.Restore(int(in.Fd()), before)) }()
			go readKeys(ctx, in, keys)
		}
	}
	fmt.Fprint(out, enterScreen)
	defer fmt.Fprint(out, leaveScreen)
	window, _ := topWindowNamed(*f.window)
	screen := topScreen{url: *f.url, interval: *f.interval, sort: *f.sort, window: window, filter: *f.filter, rows: *f.rows, colour: command.WantsColour(out, os.Getenv)}
	polls := make(chan topPoll, 1)
	go client.follow(ctx, *f.interval, polls)
	resized := make(chan os.Signal, 1)
	notifyResize(resized)
	defer signal.Stop(resized)
	for {
		select {
		case <-ctx.Done():
			return nil
		case p := <-polls:
			screen.take(p)
		case key := <-keys:
			if screen.press(key) {
				return nil
			}
		case <-resized:
		}
		width, height, errSize := term.GetSize(int(out.Fd()))
		if errSize != nil || width < 1 || height < 1 {
			width, height = topWidth(out, 80), 24
		}
		fmt.Fprint(out, screen.draw(width, height))
	}
}

// readKeys ends with the program: a read from a terminal cannot be cancelled. Arrows, F2 and the
// like, which come as an Esc and more at once, are left out: F2 has a Q, which would end it.
func readKeys(ctx context.Context, in *os.File, keys chan<- byte) {
	var b [64]byte
	for {
		n, err := in.Read(b[:])
		if err != nil || n == 0 {
			return
		}
		if b[0] == 27 && n > 1 {
			continue
		}
		for _, key := range b[:n] {
			select {
			case keys <- key:
			case <-ctx.Done():
				return
			}
		}
	}
}
