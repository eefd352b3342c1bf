// Package doctor reports what this machine and this process can measure about single spans, and
// what grants the rest: [Probe] asks the kernel and tries, and [CheckCounters] runs work of which
// it is known what a CPU counts in it. It is what "otelprof doctor" prints.
package doctor
