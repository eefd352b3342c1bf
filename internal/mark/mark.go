// Package mark is how spans, progress points and operations on locks and channels stand in a Go
// execution trace: as log events of package runtime/trace, which any reader of traces shows.
// Writers are cheap to call while no trace is on, and allocate nothing while one is; [Parse] reads
// what they write.
//
// An event has a category, of which the trace holds each text once, a message, which it holds for
// each event unless it is empty, and a task, which is a number. What is written often has no
// message: that takes most of the time to read.
//
// The message of a span's event begins with otelprof, and its category is the instrumentation
// scope:
//
//	otelprof+ID PARENT SPAN REMOTE NAME        a span starts
//	otelprof+ID PARENT SPAN-TRACE REMOTE NAME  the same, if it is sampled
//	otelprof-ID NAME                           it ends, and has been renamed
//	otelprof-ID                                it ends
//
// All but the name are hexadecimal: where the span and its local parent are in memory, which
// distinguishes spans that are open at the same time, the span's ID, that of its trace in 32
// digits, and that of a parent in another process; 0 for what there is not. The end of a span that
// has not been renamed is mostly an event of the category otelprof- whose task is the ID. The
// trace's own regions would not do: it counts one that ends on another goroutine, or not in the
// order of a stack, as damage.
//
// A visit of a progress point has the category otelprof!NAME. An operation has the category
// otelprof. and one letter, see [Op], the object as the event's task, and behind the letter, or if
// it is large as message, a decimal argument or nothing. Parse knows the visits with the category
// otelprof and the message otelprof!NAME, too, which older versions wrote.
package mark

import (
	enc "encoding/hex"
	"strconv"
	"strings"
)

// A Kind is what a mark is about.
type Kind uint8

// The kinds of marks.
const (
	// Start and End are the start and the end of a span.
	Start Kind = iota + 1
	End
	// Progress is one visit of a progress point.
	Progress
	// Begin is of an operation that may wait, which begins; Done of one that is over.
	Begin
	Done
)

// A Mark is a log event that was read. What does not belong to its kind is zero.
type Mark struct {
	Kind Kind
	// Span is a span that starts. At an end only ID and Name are known, and Name is empty
	// unless the span was renamed.
	Span Span
	// Name is the name of a progress point.
	Name string
	// Op is an operation on Object with the argument Arg.
	Op     Op
	Object uint64
	Arg    int
}

// A Span is what is known of a span when it starts.
type Span struct {
	ID, Parent     uint64
	SpanID, Remote uint64
	Trace          [16]byte // zeros unless the span is sampled
	Name           string
}

const (
	startMark    = "otelprof+"
	endMark      = "otelprof-"
	progressMark = "otelprof!"
	// progressCategory is also what operations begin with, followed by a dot.
	progressCategory  = "otelprof"
	operationCategory = progressCategory + "."

	// MaxName is how many bytes of a name are written: the runtime cuts a message after 1024.
	MaxName = 900
)

// Parse reads a log event; ok is false if none of this package's writers has written it.
func Parse(category, message string, task uint64) (m Mark, ok bool) {
	if rest, found := strings.CutPrefix(message, startMark); found {
		m.Kind = Start
		return m, m.Span.parse(rest)
	}
	if rest, found := strings.CutPrefix(message, endMark); found {
		m.Kind = End
		id, rest, ok := hex(rest)
		name, found := strings.CutPrefix(rest, " ")
		m.Span.ID, m.Span.Name = id, name
		return m, ok && (found || name == "")
	}
	if name, found := strings.CutPrefix(message, progressMark); found {
		m.Kind, m.Name = Progress, name
		return m, category == progressCategory
	}
	if category == endMark {
		m.Kind, m.Span.ID = End, task
		return m, message == ""
	}
	if name, found := strings.CutPrefix(category, progressMark); found {
		m.Kind, m.Name = Progress, name
		return m, message == ""
	}
	letter, found := strings.CutPrefix(category, operationCategory)
	if !found || letter == "" {
		return m, false
	}
	if len(letter) > 1 {
		if message != "" {
			return m, false
		}
		letter, message = letter[:1], letter[1:]
	}
	m.Kind, m.Object = Done, task
	m.Op = Op(letter[0])
	if m.Op.Begins() {
		m.Kind, m.Op = Begin, m.Op+'a'-'A'
	}
	if message != "" {
		n, err := strconv.Atoi(message)
		if err != nil {
			return m, false
		}
		m.Arg = n
	}
	return m, m.Op.valid() && (task != 0 || m.Op == Select)
}

// parse reads what follows the mark of a start.
func (s *Span) parse(text string) bool {
	for _, to := range []*uint64{&s.ID, &s.Parent, &s.SpanID, &s.Remote} {
		number, rest, ok := hex(text)
		if to == &s.SpanID && ok && strings.HasPrefix(rest, "-") {
			rest, ok = s.parseTrace(rest[1:])
		}
		rest, found := strings.CutPrefix(rest, " ")
		if !ok || !found {
			return false
		}
		*to, text = number, rest
	}
	s.Name = text
	return true
}

func (s *Span) parseTrace(text string) (rest string, ok bool) {
	digits := 2 * len(s.Trace)
	if len(text) < digits {
		return text, false
	}
	_, err := enc.Decode(s.Trace[:], []byte(text[:digits]))
	return text[digits:], err == nil
}

// hex reads the hexadecimal number that a text begins with.
func hex(text string) (n uint64, rest string, ok bool) {
	for i := range len(text) {
		digit := text[i]
		switch {
		case '0' <= digit && digit <= '9':
			digit -= '0'
		case 'a' <= digit && digit <= 'f':
			digit -= 'a' - 10
		default:
			return n, text[i:], i > 0
		}
		if n>>60 != 0 {
			return 0, text, false
		}
		n = n<<4 | uint64(digit)
	}
	return n, "", text != ""
}
