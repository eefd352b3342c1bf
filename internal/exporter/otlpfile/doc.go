// Package otlpfile writes traces, metrics and logs as OTLP-JSON lines, the format of the
// Collector's file exporter: every line is one {"resourceSpans":[…]}, {"resourceMetrics":[…]} or
// {"resourceLogs":[…]} object. The Collector's otlpjsonfile receiver and pdata's JSONUnmarshaler
// read the files.
//
// Spans go to traces.jsonl, metrics to metrics.jsonl and log records to logs.jsonl in the folder
// given. A file that would grow past the limit is renamed to
// traces-20060102T150405.000000000Z.jsonl, the time in UTC, and the oldest of those are removed.
// The time is above that in all other names, also after the clock was set back. Only the owner may
// read the files: statements and URLs are in them.
//
// A batch is written by one write of one whole line, so that a process that is killed leaves
// at most one torn line, at the end. The next one that opens the file cuts it off; all
// lines before it stay. ForceFlush and Shutdown wait until the disk has the data.
//
// The package compiles neither gRPC nor pdata.
package otlpfile
