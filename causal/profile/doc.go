// Package profile has the causal profile: what would happen if a region of the program were faster,
// and how sure that is.
//
// A [Profile] holds one [Curve] for each region, progress point and metric: by how much the time
// between two visits of the progress point, or the latency of what it counts, would shrink at each
// speed-up, as a fraction of it, with a 95 % interval. An [Effect] that may be wrong has no number,
// and has the reason in Withheld. Package causal makes profiles, by experiments in the running
// program, and from recordings of it, which package replay simulates; [Merge] puts several
// together.
//
// A profile is written as a table, as JSON, which [Read] reads, as SVG, as an input of Coz's
// viewer, and by [NewProducer] as OpenTelemetry metrics. Its values must not be changed while
// others read it.
package profile
