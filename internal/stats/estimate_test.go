package stats

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestSummarize(t *testing.T) {
	for _, tt := range []struct {
		name   string
		values []float64
		want   Estimate
	}{
		// Squares of deviations 9 4 1 0 1 4 9, their sum 28; 28/6 = 4.6667, its root by that of 7.
		// Student's t with 6 degrees of freedom is 2.4469119 at 97.5 %.
		{"one to seven", []float64{4, 2, 6, 1, 7, 3, 5}, Estimate{Mean: 4, Median: 4, StdErr: 0.81649658, Lo: 4 - 1.9978952, Hi: 4 + 1.9978952}},
		{"an outlier counts", []float64{10, 10.1, 9.9, 10, 10.2, 9.8, 50}, Estimate{Mean: 15.7142857, Median: 10, StdErr: 5.7144940, Lo: 1.7314225, Hi: 29.6971489, Outliers: 1}},
		// Student's t with 2 degrees of freedom is 4.3026527 at 97.5 %.
		{"three", []float64{1, 2, 3}, Estimate{Mean: 2, Median: 2, StdErr: 0.57735027, Lo: 2 - 2.4841377, Hi: 2 + 2.4841377}},
		{"two", []float64{1, 3}, Estimate{Mean: 2, Median: 2, StdErr: 1, Lo: 2 - 12.7062047, Hi: 2 + 12.7062047}},
		{"one", []float64{0.3}, Estimate{Mean: 0.3, Median: 0.3, Lo: 0.3, Hi: 0.3}},
		{"constant", []float64{.25, .25, .25, .25, .25, .25}, Estimate{Mean: .25, Median: .25, Lo: .25, Hi: .25}},
		{"most the same", []float64{1, 1, 1, 1, 1, 1, 1.001, 0.999}, Estimate{Mean: 1, Median: 1, StdErr: 0.0001889822, Lo: 0.9995531, Hi: 1.0004469, Outliers: 2}},
	} {
		given := append([]float64{}, tt.values...)
		got := Summarize(tt.values)
		if diff := cmp.Diff(tt.want, got, cmpopts.EquateApprox(0, 1e-5)); diff != "" {
			t.Errorf("%s: Summarize(%v) differs, -want +got:\n%s", tt.name, given, diff)
		}
		if !cmp.Equal(given, tt.values) {
			t.Errorf("%s: Summarize changes its argument from %v to %v", tt.name, given, tt.values)
		}
	}
}

func TestMedian(t *testing.T) {
	for _, tt := range []struct {
		values []float64
		want   float64
	}{{[]float64{3}, 3}, {[]float64{3, 1}, 2}, {[]float64{9, 1, 2}, 2}, {[]float64{4, 1, 9, 2}, 3}} {
		if got := Median(tt.values); math.Abs(got-tt.want) > 1e-12 {
			t.Errorf("Median(%v) = %g, want %g", tt.values, got, tt.want)
		}
	}
}
