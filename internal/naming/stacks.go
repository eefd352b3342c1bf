package naming

import "strings"

// The labels of a goroutine in a region, and in a session that is profiled. Their values are
// numbers, looked up in tables: labels are shown in crash traces.
const (
	RegionLabel  = "otelprof_region"
	SessionLabel = "otelprof_session"
)

// The labels that samples have for a region in profiles that leave the profiler, beside its number,
// and goroutines too with stacks.WithSpanLabels. IDs are hexadecimal, 32 and 16 digits. Other
// profilers of Go have the same names for the same things.
const (
	NameLabel    = "span_name"
	ScopeLabel   = "span_scope"
	TraceIDLabel = "trace_id"
	SpanIDLabel  = "span_id"
	// WaitLabel is for what a goroutine waited, in profiles of waits: see package schedule.
	WaitLabel = "wait"
)

// The names of frames that are no functions of Go.
const (
	KernelFrame = "[kernel]"
	NotGoFrame  = "[not Go]"
)

// ProfileComment begins the comments that make a profile a recording, which stacks.Read
// understands.
const ProfileComment = "otelprof "

// IsRecordingComment reports whether a comment of a profile is one of those, and not for people.
func IsRecordingComment(text string) bool { return strings.HasPrefix(text, ProfileComment) }
