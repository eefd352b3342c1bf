package pmuattrs

import (
	"fmt"

	"github.com/otelprof/otelprof/internal/perf"
)

// maxEvents is the most events that can be counted together.
const maxEvents = perf.MaxEvents

// An Event is something that happens on a thread and is counted. Events are comparable
// with ==. Events that most machines have are variables of this package; [ParseEvent] makes
// others. The zero Event counts nothing and cannot be opened.
type Event struct {
	name  string
	text  string // what String returns, if it is not the name
	unit  string
	perf  perf.Event
	usage usageField // if it is not an event of perf
}

// Name is the event's name in attributes: that of branch misses is "branch_misses", its
// attribute "pmu.branch_misses".
func (e Event) Name() string { return e.name }

// Unit is the event's unit in the notation of UCUM, "{cycle}", "{miss}" or "ns"; "{event}"
// for events that are described by numbers.
func (e Event) Unit() string { return e.unit }

// String returns a text of which [ParseEvent] makes the same event.
func (e Event) String() string {
	kernel := e.perf.Kernel && e != ContextSwitches && e != CPUMigrations
	switch {
	case e.text != "" && kernel:
		return e.text + "uk"
	case e.text != "":
		return e.text
	case kernel:
		return e.name + kernelSuffix
	}
	return e.name
}

// InKernel reports whether what the kernel does for the thread is counted as well.
func (e Event) InKernel() bool { return e.perf.Kernel || e.usage != 0 }

// WithKernel returns the event that also counts what the kernel does for the thread. It
// needs perf_event_paranoid <= 1 or CAP_PERFMON; user code alone needs <= 2.
func (e Event) WithKernel() Event {
	if e.usage == 0 {
		e.perf.Kernel = true
	}
	return e
}

// MarshalText implements [encoding.TextMarshaler].
func (e Event) MarshalText() ([]byte, error) {
	if e == (Event{}) {
		return nil, fmt.Errorf("%w: the zero event: must be one of ParseEvent's or of the variables", ErrEvent)
	}
	return []byte(e.String()), nil
}

// UnmarshalText implements [encoding.TextUnmarshaler] by [ParseEvent].
func (e *Event) UnmarshalText(text []byte) error {
	parsed, err := ParseEvent(string(text))
	if err == nil {
		*e = parsed
	}
	return err
}
