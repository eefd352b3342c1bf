// Package saved reads what was measured back from files, as the sources of a viewer: OTLP-JSON
// of otelprof and of the Collector's file exporter, HdrHistogram logs, profiles in pprof's
// format, and causal profiles. Each may be gzipped. The content of a file decides what it
// holds.
//
// A [Reader] takes any number of files, in any order; [Reader.Data] then merges them.
//
// # Sessions
//
// All spans of a trace, of all services, are one session, and the session has the ID of the
// trace. Its tree, self times, late spans and errors are as the measured process knew them,
// but for what is in no span: waits that were marked as such count as self time here, and a
// child span in another process takes from the self time of its parent.
//
// # Regions
//
// The durations of spans go into HDR histograms with a relative error of 0.1 %. Metrics of
// regions count spans that the sampler left out too, so where there are both, the one with
// more spans is taken. [Data.RelativeError] bounds the error of percentiles either way.
//
// # Damage
//
// A line that cannot be read loses its own data only. It becomes a [Problem], with the file,
// the line and the byte where it is.
//
// # Memory
//
// A Reader keeps at most [WithMaxSessions] sessions and about [WithMaxBytes], the ones that ended
// last. Of the others the durations stay in the regions, and [Data.Dropped] counts them; of spans
// that come after their session has gone the self time is estimated, see [Data.Alone]. A .hlog file
// is read until the histograms of all take as much.
package saved
