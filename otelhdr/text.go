package otelhdr

import (
	"math"
	"strconv"
)

// appendGrouped appends v with a comma between groups of three digits.
func appendGrouped(dst []byte, v uint64) []byte {
	var digits [20]byte
	return appendCommas(dst, strconv.AppendUint(digits[:0], v, 10))
}

// appendCommas appends digits with a comma between groups of three.
func appendCommas(dst, digits []byte) []byte {
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, d)
	}
	return dst
}

// appendGroupedFloat appends f, which is finite and not negative, with decimals, and its integer
// part grouped.
func appendGroupedFloat(dst []byte, f float64, decimals int) []byte {
	var buf [64]byte
	text := strconv.AppendFloat(buf[:0], f, 'f', decimals, 64)
	whole := len(text)
	if decimals > 0 {
		whole -= decimals + 1
	}
	dst = appendCommas(dst, text[:whole])
	return append(dst, text[whole:]...)
}

// appendPercent appends p with at most four decimals, or as many more as show that it is less than
// 100.
func appendPercent(dst []byte, p float64) []byte {
	rounded := math.Round(p*1e4) / 1e4
	if rounded >= 100 && p < 100 {
		return strconv.AppendFloat(dst, p, 'f', -1, 64)
	}
	return strconv.AppendFloat(dst, rounded, 'f', -1, 64)
}

// String returns the bounds and the count, as [24,832, 25,088) 14,190. The upper bound is the first
// value after the bucket.
func (b Bucket) String() string { return string(b.append(make([]byte, 0, 64))) }

func (b Bucket) append(dst []byte) []byte {
	dst = append(dst, '[')
	dst = appendGrouped(dst, b.Low)
	dst = append(dst, ", "...)
	if b.High == math.MaxUint64 {
		dst = append(dst, "18,446,744,073,709,551,616"...) // 2^64, which has no uint64
	} else {
		dst = appendGrouped(dst, b.High+1)
	}
	dst = append(dst, ") "...)
	return appendGrouped(dst, b.Count)
}

// String returns the percentile, its value, the slot and the index of the bucket, and the bucket:
// P99=24,960 [83 / 609]: [24,832, 25,088) 14,190.
func (p Percentile) String() string {
	dst := append(make([]byte, 0, 96), 'P')
	dst = appendPercent(dst, p.Percent)
	dst = append(dst, '=')
	dst = appendGrouped(dst, p.Value)
	dst = append(dst, " ["...)
	dst = strconv.AppendInt(dst, int64(p.Slot), 10)
	dst = append(dst, " / "...)
	dst = strconv.AppendInt(dst, int64(p.Index), 10)
	dst = append(dst, "]: "...)
	return string(p.Bucket.append(dst))
}
