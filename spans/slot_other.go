//go:build !otelprof_runtime

package spans

// schedulerSlots are none: the scheduler does not take part.
const schedulerSlots = 0
