// Package hdrmetric records the histogram instruments of an OpenTelemetry MeterProvider in HDR
// histograms, at a fraction of the cost of the SDK's own aggregations and with exact extremes and
// sums.
//
// [WrapMeterProvider] has each set of attributes of each histogram record into an
// [otelhdr.Concurrent], and a [Producer] for each reader exports them: as exponential histograms of
// a fixed scale by default. The rest of the provider stays as it is.
package hdrmetric
