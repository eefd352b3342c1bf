// Package goroutines shows where all goroutines of a program are at one moment, and what they wait
// for: the first thing to look at in a program that hangs. Their stacks are merged, by the reason
// of the wait, into trees.
package goroutines

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/otelprof/otelprof/spans/stacks"
)

// ErrFormat is wrapped by the errors about text that is no list of goroutines.
var ErrFormat = errors.New("goroutines")

// A Dump is where all goroutines were at one moment. It has names of functions, base names of files
// and lines: no arguments, no addresses and no directories.
type Dump struct {
	Count  int     // of goroutines
	Groups []Group // by reason, those of most goroutines first
}

// A Group is the goroutines that wait for the same reason.
type Group struct {
	// Reason is as the runtime has it: "chan receive", "sync.Mutex.Lock", "IO wait", "running",
	// "runnable" …
	Reason string
	Count  int
	// Longest is how long the first of them has waited, in whole minutes; 0 for less than one, or
	// if that is not known.
	Longest time.Duration
	// Tree has a sample for each goroutine, and a nanosecond, so that renderings by time are by
	// number of goroutines.
	Tree *stacks.Tree
}

const (
	// maxLine is the longest line that is read.
	maxLine = 1 << 20
	// maxReasons is how many reasons have a group each, of a kilobyte at least: the runtime has
	// some fifty. maxCallsRead is how many calls of a goroutine are kept, the innermost: it writes
	// a hundred.
	maxReasons   = 1000
	maxCallsRead = 1 << 14
)

// Read reads goroutines as the runtime writes them: /debug/pprof/goroutine?debug=2, what
// runtime.Stack returns, or what stands in the log of a program that has crashed. What is before
// the first goroutine is passed over. The error wraps [ErrFormat] if there is none.
func Read(r io.Reader) (*Dump, error) {
	in := bufio.NewScanner(r)
	in.Buffer(make([]byte, 0, 64<<10), maxLine)
	p := parser{groups: map[string]*Group{}}
	lines := 0
	for ; in.Scan(); lines++ {
		p.line(in.Text())
	}
	switch err := in.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, fmt.Errorf("%w: line %d: must be shorter than %d bytes", ErrFormat, lines+1, maxLine)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	p.end()
	if p.count == 0 {
		return nil, fmt.Errorf("%w: no line such as \"goroutine 1 [running]:\"", ErrFormat)
	}
	return newDump(p.groups), nil
}

func newDump(groups map[string]*Group) *Dump {
	d := &Dump{}
	for _, g := range groups {
		d.Count += g.Count
		d.Groups = append(d.Groups, *g)
	}
	slices.SortFunc(d.Groups, func(a, b Group) int { return cmp.Or(b.Count-a.Count, cmp.Compare(a.Reason, b.Reason)) })
	return d
}

// groupOf returns the group of a reason, a new one where there is none, or that of the others where
// there are too many.
func groupOf(groups map[string]*Group, reason string) *Group {
	g := groups[reason]
	if g == nil && len(groups) >= maxReasons {
		reason = "other"
		g = groups[reason]
	}
	if g == nil {
		g = &Group{Reason: reason, Tree: stacks.NewTree()}
		groups[reason] = g
	}
	return g
}

// add puts goroutines of the same stack into the group. The nanoseconds have trees sorted by the
// number of goroutines.
func (g *Group) add(stack []stacks.Frame, n int64) {
	g.Count += int(n)
	g.Tree.Add(stack, stacks.Weight{Samples: n, Nanos: n})
}

// A parser collects the stack of one goroutine at a time.
type parser struct {
	groups map[string]*Group
	count  int

	open    bool // within a goroutine
	reason  string
	waited  time.Duration
	stack   []stacks.Frame // innermost first
	pending string         // a function whose place comes in the next line
}

func (p *parser) line(text string) {
	if reason, waited, ok := header(text); ok {
		p.end()
		p.open, p.reason, p.waited = true, reason, waited
		return
	}
	switch {
	case !p.open:
	case text == "":
		p.end()
	case strings.HasPrefix(text, "\t"):
		if p.pending != "" {
			file, line := place(text)
			p.push(p.pending, file, line)
			p.pending = ""
		}
	case strings.HasPrefix(text, "created by "):
		p.flush()
	case strings.HasPrefix(text, "..."):
		p.flush()
		p.push("[calls left out]", "", 0)
	default:
		p.flush()
		// The arguments are in the last parentheses: those of a receiver come before.
		p.pending = "[" + strings.TrimSpace(text) + "]"
		if at := strings.LastIndexByte(text, '('); at > 0 && strings.HasSuffix(text, ")") {
			p.pending = text[:at]
		}
	}
}

// flush keeps a function whose place has not come.
func (p *parser) flush() {
	if p.pending != "" {
		p.push(p.pending, "", 0)
		p.pending = ""
	}
}

// push adds a call to the stack, unless that is full.
func (p *parser) push(function, file string, line int) {
	if len(p.stack) < maxCallsRead {
		p.stack = append(p.stack, stacks.NewFrame(function, file, line))
	}
}

// end puts the goroutine into its group.
func (p *parser) end() {
	if !p.open {
		return
	}
	p.flush()
	g := groupOf(p.groups, p.reason)
	g.add(p.stack, 1)
	g.Longest = max(g.Longest, p.waited)
	p.count++
	p.open, p.stack = false, p.stack[:0]
}

// header reads a line such as "goroutine 7 [chan receive, 5 minutes, locked to thread]:".
func header(text string) (reason string, waited time.Duration, ok bool) {
	rest, ok := strings.CutPrefix(text, "goroutine ")
	if !ok || !strings.HasSuffix(rest, ":") {
		return "", 0, false
	}
	number, rest, _ := strings.Cut(rest, " ")
	if _, err := strconv.ParseUint(number, 10, 64); err != nil {
		return "", 0, false
	}
	_, rest, begins := strings.Cut(rest, "[")
	state, _, ends := strings.Cut(rest, "]")
	if !begins || !ends {
		return "", 0, false
	}
	parts := strings.Split(state, ", ")
	for _, part := range parts[1:] {
		if minutes, ok := strings.CutSuffix(part, " minutes"); ok {
			if n, err := strconv.ParseUint(minutes, 10, 24); err == nil {
				waited = time.Duration(n) * time.Minute
			}
		}
	}
	return parts[0], waited, true
}

// place reads a line such as "\t/go/src/shop/main.go:12 +0x1d".
func place(text string) (file string, line int) {
	text, _, _ = strings.Cut(strings.TrimSpace(text), " +0x")
	at := strings.LastIndexByte(text, ':')
	if at < 0 {
		return text, 0
	}
	n, err := strconv.Atoi(text[at+1:])
	if err != nil {
		return text, 0
	}
	return text[:at], n
}
