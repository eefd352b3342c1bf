package stacks

import "github.com/otelprof/otelprof/internal/stacknames"

// Comments of a profile that is a recording.
const (
	regionComment = stacknames.Comment + "region " // number, name and scope
	lostComment   = stacknames.Comment + "lost samples "
	cpuComment    = stacknames.Comment + "cpu ns "
	// processComment has the PID, the host and the service.
	processComment = stacknames.Comment + "process "
)
