//go:build otelprof_runtime

package spans

// schedulerSlots are two for causal experiments and one for times, which are kept by the scheduler.
const schedulerSlots = 3
