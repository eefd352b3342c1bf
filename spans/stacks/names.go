package stacks

import "github.com/otelprof/otelprof/internal/naming"

// Comments of a profile that is a recording.
const (
	regionComment = naming.ProfileComment + "region " // number, name and scope
	lostComment   = naming.ProfileComment + "lost samples "
	cpuComment    = naming.ProfileComment + "cpu ns "
	// processComment has the PID, the host and the service.
	processComment = naming.ProfileComment + "process "
)
