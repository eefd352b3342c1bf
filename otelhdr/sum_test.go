package otelhdr

import (
	"math"
	"math/big"
	"testing"
)

func (a uint128) big() *big.Int {
	b := new(big.Int).Lsh(new(big.Int).SetUint64(a.hi), 64)
	return b.Add(b, new(big.Int).SetUint64(a.lo))
}

func TestUint128Float64(t *testing.T) {
	values := []uint128{
		{},
		{lo: 1},
		{lo: 1<<53 + 1},
		{lo: math.MaxUint64},
		{hi: 1},
		{hi: 1, lo: 1},
		{hi: 1, lo: 1 << 11}, // a tie
		{hi: 1, lo: 1<<11 + 1},
		{hi: 1, lo: 3 << 11},
		{hi: 1, lo: 1<<12 - 1},
		{hi: 1 << 63},
		{hi: math.MaxUint64, lo: math.MaxUint64},
	}
	r := newRand()
	for range 2000 {
		values = append(values, uint128{hi: anyWidth(r), lo: anyWidth(r)})
	}
	for _, v := range values {
		want, _ := new(big.Float).SetInt(v.big()).Float64()
		if got := v.float64(); got != want {
			t.Errorf("%v.float64() = %v, want %v", v, got, want)
		}
	}
}

func TestUint128AddSub(t *testing.T) {
	r := newRand()
	modulus := new(big.Int).Lsh(big.NewInt(1), 128)
	for range 2000 {
		a, b := uint128{hi: anyWidth(r), lo: anyWidth(r)}, uint128{hi: anyWidth(r), lo: anyWidth(r)}
		want := new(big.Int).Add(a.big(), b.big())
		if got := a.add(b).big(); got.Cmp(want.Mod(want, modulus)) != 0 {
			t.Errorf("%v.add(%v) = %v, want %v", a, b, got, want)
		}
		if got := a.add(b).sub(b); got != a {
			t.Errorf("%v.add(%v).sub(%v) = %v", a, b, b, got)
		}
		if got, want := a.less(b), a.big().Cmp(b.big()) < 0; got != want {
			t.Errorf("%v.less(%v) = %v, want %v", a, b, got, want)
		}
	}
}
