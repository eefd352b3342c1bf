package compat_test

import (
	"testing"

	"go.opentelemetry.io/otel/metric/x"

	"github.com/otelprof/otelprof/otelhdr/hdrmetric"
)

// Histograms of otelhdr can be bound and finished by the interfaces of package x, which the module
// otelprof does not need.
func TestHistogramsAreBindersAndFinishers(t *testing.T) {
	meter := hdrmetric.WrapMeterProvider(nil, hdrmetric.NewProducer()).Meter("m")
	f, err := meter.Float64Histogram("f")
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := f.(x.Float64HistogramBinder); !ok {
		t.Errorf("%T is no Float64HistogramBinder", f)
	}
	if _, ok := f.(x.Finisher); !ok {
		t.Errorf("%T is no Finisher", f)
	}
	n, err := meter.Int64Histogram("n")
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := n.(x.Int64HistogramBinder); !ok {
		t.Errorf("%T is no Int64HistogramBinder", n)
	}
	if _, ok := n.(x.Finisher); !ok {
		t.Errorf("%T is no Finisher", n)
	}
}
