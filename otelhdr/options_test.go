package otelhdr

import (
	"errors"
	"math"
	"strings"
	"testing"
)

func TestOptionsRejected(t *testing.T) {
	for _, tt := range []struct {
		name string
		opts []Option
		want []string
	}{
		{"error zero", []Option{WithRelativeError(0)}, []string{"relative error 0: must be in [1e-06, 0.1]"}},
		{"error negative", []Option{WithRelativeError(-0.01)}, []string{"relative error -0.01"}},
		{"error too small", []Option{WithRelativeError(0.9e-6)}, []string{"relative error 9e-07"}},
		{"error too large", []Option{WithRelativeError(0.11)}, []string{"relative error 0.11"}},
		{"error NaN", []Option{WithRelativeError(math.NaN())}, []string{"relative error NaN"}},
		{"error infinite", []Option{WithRelativeError(math.Inf(1))}, []string{"relative error +Inf"}},
		{"range reversed", []Option{WithRange(2, 1)}, []string{"range [2, 1]: minimum must not exceed maximum"}},
		{"digits zero", []Option{WithSignificantDigits(0)}, []string{"significant digits 0: must be in [1, 5]"}},
		{"digits too many", []Option{WithSignificantDigits(6)}, []string{"significant digits 6: must be in [1, 5]"}},
		{"equivalent", []Option{WithEquivalent(3)}, []string{"equivalent 3: must be EquivalentLow"}},
		{"both", []Option{WithRange(2, 1), WithRelativeError(1)}, []string{"relative error 1:", "range [2, 1]:"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h, err := NewHistogram(tt.opts...)
			c, errConcurrent := NewConcurrent(tt.opts...)
			if h != nil || c != nil {
				t.Errorf("a histogram in spite of the options")
			}
			for _, err := range []error{err, errConcurrent} {
				if !errors.Is(err, ErrConfig) {
					t.Fatalf("error = %v, want one that wraps ErrConfig", err)
				}
				for _, want := range tt.want {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("error = %q, want it to contain %q", err, want)
					}
				}
			}
		})
	}
}

func TestOptionsAccepted(t *testing.T) {
	for _, tt := range []struct {
		name            string
		opts            []Option
		relativeError   float64
		lowest, highest uint64
	}{
		{"default", nil, 0.5 / 512, 0, math.MaxUint64},
		{"finest", []Option{WithRelativeError(1e-6), WithRange(0, 1000)}, 0.5 / (1 << 19), 0, 1000},
		{"coarsest", []Option{WithRelativeError(0.1)}, 0.5 / 8, 0, math.MaxUint64},
		{"range", []Option{WithRange(10_000, 30_000), WithRelativeError(0.01)}, 0.5 / 64, 9984, 30207},
		{"one value", []Option{WithRange(5, 5)}, 0.5 / 512, 5, 5},
		{"digits", []Option{WithSignificantDigits(2)}, 0.5 / 128, 0, math.MaxUint64},
		{"5 digits", []Option{WithSignificantDigits(5), WithRange(0, 9)}, 0.5 / (1 << 17), 0, 9},
		{"the last of error and digits wins", []Option{WithSignificantDigits(9), WithRelativeError(0.1)}, 0.5 / 8, 0, math.MaxUint64},
		{"the last of digits and error wins", []Option{WithRelativeError(7), WithSignificantDigits(1)}, 0.5 / 16, 0, math.MaxUint64},
		{"the last wins", []Option{WithRelativeError(0.01), WithRelativeError(0.1)}, 0.5 / 8, 0, math.MaxUint64},
	} {
		t.Run(tt.name, func(t *testing.T) {
			forEachKind(t, func(t *testing.T, create func(...Option) recorder) {
				h := create(tt.opts...)
				if got := h.RelativeError(); got != tt.relativeError {
					t.Errorf("RelativeError() = %g, want %g", got, tt.relativeError)
				}
				if got := h.Snapshot(nil).RelativeError(); got != tt.relativeError {
					t.Errorf("Snapshot.RelativeError() = %g, want %g", got, tt.relativeError)
				}
				if lowest, highest := h.Range(); lowest != tt.lowest || highest != tt.highest {
					t.Errorf("Range() = [%d, %d], want [%d, %d]", lowest, highest, tt.lowest, tt.highest)
				}
			})
		})
	}
}

// TestNilOption: an option that is nil is none.
func TestNilOption(t *testing.T) {
	h := mustNew(t, nil, WithRelativeError(0.01), nil)
	if got, want := h.RelativeError(), 0.5/64; got != want {
		t.Errorf("RelativeError() = %v, want %v", got, want)
	}
}
