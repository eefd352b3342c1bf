//go:build otelprof_runtime

package spans

// schedulerSlots are for causal experiments and for times, both kept by the scheduler.
const schedulerSlots = 2
