package otelprof

import "github.com/otelprof/otelprof/internal/exporter/delivery"

// ExportStats counts what has become of the items of one pipeline since [Setup]. Items are spans,
// log records, data points or profiles.
type ExportStats struct {
	// Name tells the pipeline: "otlp: traces to http://localhost:4318/v1/traces".
	Name string `json:"name"`
	// Exported: the other side took them.
	Exported uint64 `json:"exported"`
	// Failed: lost, the export that held them failed.
	Failed uint64 `json:"failed"`
	// Rejected: lost, the other side refused them in an export that was otherwise accepted.
	Rejected uint64 `json:"rejected"`
	// QueueFull: lost, the queue had no room. Spans and log records have queues.
	QueueFull uint64 `json:"queue_full"`
	// Unfinished: lost, they ended after Shutdown or were still queued when its context ended.
	Unfinished uint64 `json:"unfinished"`
	// Queued: waiting for export, or in it.
	Queued uint64 `json:"queued"`
	// FailedExports is the number of exports that failed.
	FailedExports uint64 `json:"failed_exports"`
	// Repaired is the number of items exported with U+FFFD in place of bytes that are not UTF-8.
	Repaired uint64 `json:"repaired,omitempty"`
	// Outage is why exports fail at present, "" while they do not.
	Outage string `json:"outage,omitempty"`
}

// Ended is the number of items given to the pipeline: the sum of those that were exported, were
// lost or are queued.
func (s ExportStats) Ended() uint64 { return delivery.Stats(s).Ended() }
