package otlpjson

import "go.opentelemetry.io/otel/trace"

// Metrics are metrics by resource and scope.
type Metrics struct {
	ResourceMetrics []ResourceMetrics `json:"resourceMetrics"`
}

// ResourceMetrics are those of one resource.
type ResourceMetrics struct {
	Resource     Resource       `json:"resource"`
	ScopeMetrics []ScopeMetrics `json:"scopeMetrics"`
	SchemaURL    string         `json:"schemaUrl,omitempty"`
}

// ScopeMetrics are those of one scope.
type ScopeMetrics struct {
	Scope     Scope    `json:"scope"`
	Metrics   []Metric `json:"metrics"`
	SchemaURL string   `json:"schemaUrl,omitempty"`
}

// A Metric has one kind of data points.
type Metric struct {
	Name        string                `json:"name,omitempty"`
	Description string                `json:"description,omitempty"`
	Unit        string                `json:"unit,omitempty"`
	Gauge       *Gauge                `json:"gauge,omitempty"`
	Sum         *Sum                  `json:"sum,omitempty"`
	Histogram   *Histogram            `json:"histogram,omitempty"`
	Exponential *ExponentialHistogram `json:"exponentialHistogram,omitempty"`
	Summary     *Summary              `json:"summary,omitempty"`
}

// A Temporality is OTLP's, whose numbers are not those of the SDK.
type Temporality int

// What points count from: the point before, or the start.
const (
	Delta      Temporality = 1
	Cumulative Temporality = 2
)

// A Gauge has values.
type Gauge struct {
	Points []NumberPoint `json:"dataPoints,omitempty"`
}

// A Sum has sums.
type Sum struct {
	Points      []NumberPoint `json:"dataPoints,omitempty"`
	Temporality Temporality   `json:"aggregationTemporality,omitempty"`
	Monotonic   bool          `json:"isMonotonic,omitempty"`
}

// A Histogram has distributions in buckets between bounds.
type Histogram struct {
	Points      []HistogramPoint `json:"dataPoints,omitempty"`
	Temporality Temporality      `json:"aggregationTemporality,omitempty"`
}

// An ExponentialHistogram has distributions in buckets of like relative width.
type ExponentialHistogram struct {
	Points      []ExponentialPoint `json:"dataPoints,omitempty"`
	Temporality Temporality        `json:"aggregationTemporality,omitempty"`
}

// A Summary has quantiles.
type Summary struct {
	Points []SummaryPoint `json:"dataPoints,omitempty"`
}

// A Point is what all data points have.
type Point struct {
	Attributes []KeyValue `json:"attributes,omitempty"`
	Start      uint64     `json:"startTimeUnixNano,omitempty,string"`
	Time       uint64     `json:"timeUnixNano,omitempty,string"`
}

// A Number has one of its fields.
type Number struct {
	Int    *int64  `json:"asInt,omitempty,string"`
	Double *Double `json:"asDouble,omitempty"`
}

// NumberOf is a value of the SDK.
func NumberOf[N int64 | float64](n N) Number {
	switch v := any(n).(type) {
	case int64:
		return Number{Int: &v}
	default:
		d := Double(n)
		return Number{Double: &d}
	}
}

// A NumberPoint is a point of a gauge or a sum.
type NumberPoint struct {
	Point
	Number
	Exemplars []Exemplar `json:"exemplars,omitempty"`
}

// A Distribution is what points of histograms have. Min and Max are nil where they are not known.
type Distribution struct {
	Count     uint64     `json:"count,omitempty,string"`
	Sum       *Double    `json:"sum,omitempty"`
	Min       *Double    `json:"min,omitempty"`
	Max       *Double    `json:"max,omitempty"`
	Exemplars []Exemplar `json:"exemplars,omitempty"`
}

// A HistogramPoint is a point of a histogram.
type HistogramPoint struct {
	Point
	Distribution
	Bounds []Double `json:"explicitBounds,omitempty"`
	Counts Counts   `json:"bucketCounts,omitempty"`
}

// An ExponentialPoint is a point of an exponential histogram.
type ExponentialPoint struct {
	Point
	Distribution
	Scale         int32   `json:"scale,omitempty"`
	ZeroCount     uint64  `json:"zeroCount,omitempty,string"`
	ZeroThreshold Double  `json:"zeroThreshold,omitempty"`
	Positive      Buckets `json:"positive,omitzero"`
	Negative      Buckets `json:"negative,omitzero"`
}

// Buckets are on one side of zero.
type Buckets struct {
	Offset int32  `json:"offset,omitempty"`
	Counts Counts `json:"bucketCounts,omitempty"`
}

// A SummaryPoint is a point of a summary.
type SummaryPoint struct {
	Point
	Count     uint64     `json:"count,omitempty,string"`
	Sum       Double     `json:"sum,omitempty"`
	Quantiles []Quantile `json:"quantileValues,omitempty"`
}

// A Quantile is from 0 to 1.
type Quantile struct {
	Quantile Double `json:"quantile,omitempty"`
	Value    Double `json:"value,omitempty"`
}

// An Exemplar is one value, with the span in which it was measured.
type Exemplar struct {
	Number
	Attributes []KeyValue    `json:"filteredAttributes,omitempty"`
	Time       uint64        `json:"timeUnixNano,omitempty,string"`
	SpanID     trace.SpanID  `json:"spanId,omitzero"`
	TraceID    trace.TraceID `json:"traceId,omitzero"`
}
