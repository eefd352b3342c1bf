package otelhdr

// An Equivalent says which value stands for all values of a bucket.
type Equivalent uint8

const (
	// EquivalentMid is the middle, which no value of the bucket is further from than the relative
	// error.
	EquivalentMid Equivalent = iota
	// EquivalentLow is the smallest value of the bucket, at most twice the relative error below any
	// other.
	EquivalentLow
	// EquivalentHigh is the greatest value of the bucket, at most twice the relative error above
	// any other: what HdrHistogram reports.
	EquivalentHigh
)

// Equivalent returns the value that stands for the bucket.
func (b Bucket) Equivalent(e Equivalent) uint64 {
	switch e {
	case EquivalentLow:
		return b.Low
	case EquivalentHigh:
		return b.High
	default:
		return b.Mid()
	}
}
