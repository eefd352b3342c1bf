// Package processcontext publishes the resource of this process where readers outside find it, by
// the OpenTelemetry process context (OTEP 4719): a mapping in memory with the name OTEL_CTX, which
// profilers such as the OpenTelemetry eBPF profiler look for, so that what they record has the
// service's name and instance as its traces have.
//
//	c, err := processcontext.Publish(res, true)
//	if err != nil {
//		return err
//	}
//	defer c.Close()
//
// It also shows whether goroutines have their trace and span as pprof labels, which is so with
// stacks.WithSpanLabels.
//
// # Who can read it
//
// Every process that may read this one's memory: root's, and the same user's where the system
// allows debugging them. It has the attributes of the resource, and nothing that the memory does
// not have anyway.
//
// # Cost
//
// Publish takes well under a millisecond and some pages of memory. After it nothing runs.
package processcontext
