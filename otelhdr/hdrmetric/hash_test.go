package hdrmetric

import (
	"reflect"
	"testing"
)

// TestIsHash takes for a hash what is an unsigned integer of 64 bits, and no address that has as
// many.
func TestIsHash(t *testing.T) {
	for _, of := range []struct {
		value any
		want  bool
	}{
		{uint64(1), true},
		{struct{ hash uint64 }{1}, true},
		{struct{ inner struct{ hash uint64 } }{}, true},
		{struct{ p *int }{}, false},
		{struct{ i any }{}, false},
		{struct{ p uintptr }{}, false},
		{struct{ a, b uint32 }{}, false},
		{struct{ a, b uint64 }{}, false},
		{[1]uint64{}, false},
		{struct{ f float64 }{}, false},
		{struct{}{}, false},
	} {
		if got := isHash(reflect.TypeOf(of.value)); got != of.want {
			t.Errorf("isHash(%T) = %v, want %v", of.value, got, of.want)
		}
	}
	if !distinctIsHash {
		t.Error("attribute.Distinct is no hash of 64 bits: sets are hashed again, 10 ns each")
	}
}
