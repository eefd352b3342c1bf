package profile

// Mode is how answers are found: by a kind of experiment, or from recordings.
type Mode string

// The modes. No plan asks for [ModeReplay]: it delays nothing.
const (
	// ModeSlowdown holds the callers of the chosen region's spans for a part of its own time, and
	// looks what that costs: what a millisecond more costs bounds what a millisecond less brings,
	// and is the same where it is little.
	ModeSlowdown Mode = "slowdown"
	// ModeOverlap is virtual speedup, as in Coz: it delays all others by what the chosen region
	// would save, when a span ends.
	ModeOverlap Mode = "overlap"
	// ModeDilation is time dilation: it stretches every region but the chosen one in proportion to
	// its self time.
	ModeDilation Mode = "dilation"
	// ModeReplay records a few seconds of the program, and simulates them (discrete events) with a
	// region that is faster.
	ModeReplay Mode = "replay"
)

// Delays reports whether answers of this mode are of experiments, which delay the program and need
// a plan.
func (m Mode) Delays() bool { return m == ModeSlowdown || m == ModeOverlap || m == ModeDilation }

// rank orders what was tried out before what was computed.
func (m Mode) rank() string {
	switch m {
	case ModeSlowdown:
		return "1"
	case ModeOverlap:
		return "2"
	case ModeDilation:
		return "3"
	case ModeReplay:
		return "4"
	}
	return "5" + string(m)
}

// A Handover is how the debt or credit of a goroutine passes to those that it wakes, in experiments
// of [ModeOverlap].
type Handover string

const (
	// HandoverWrappers is by [Mutex] and the other types of this package: waits for anything else
	// are not seen, and delays are inserted at ends of spans and by those types.
	HandoverWrappers Handover = "wrappers"
	// HandoverRuntime is by Go's scheduler, in programs built by "otelprof build": it sees each
	// wait, of all goroutines, and inserts the delays.
	HandoverRuntime Handover = "runtime"
)
