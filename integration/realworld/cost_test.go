package main

import (
	"errors"
	"strings"
	"testing"
)

func TestCost(t *testing.T) {
	still := load{periods: []float64{0.01, 0.011, 0.01, 0.009, 0.01, 0.01}, p99: 20}
	for name, tt := range map[string]struct {
		during load
		want   []string
	}{
		"nothing":           {still, nil},
		"little, noisily":   {load{[]float64{0.008, 0.013, 0.008, 0.013, 0.009, 0.012}, 21}, nil},
		"much":              {load{[]float64{0.012, 0.0125, 0.012, 0.0125, 0.012, 0.012}, 21}, []string{"throughput"}},
		"a longer p99":      {load{still.periods, 23}, []string{"p99"}},
		"much and a longer": {load{[]float64{0.012, 0.0125, 0.012, 0.0125, 0.012, 0.012}, 40}, []string{"throughput", "p99"}},
	} {
		err := cost{before: still, during: tt.during, after: still}.missed()
		if (err == nil) != (tt.want == nil) || err != nil && !errors.Is(err, errClaim) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
		for _, want := range tt.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", name, err, tt.want)
			}
		}
	}
}
