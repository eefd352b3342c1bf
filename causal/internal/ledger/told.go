package ledger

// Record counts a span that ends at a progress point, of which somebody else knows what it has
// saved under the one hypothesis of the setting; both in ns.
func (s *Setting) Record(point int, duration, saved int64) {
	v := Virtual{setting: s, Duration: duration}
	v.Saved[0] = saved
	v.RecordAt(s, point)
}
