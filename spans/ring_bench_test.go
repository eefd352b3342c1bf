package spans

import (
	"encoding/binary"
	"fmt"
	"testing"
	"time"
)

// BenchmarkRingOfNames appends slow sessions of many names to a full ring: the cost must not grow
// with the names.
func BenchmarkRingOfNames(b *testing.B) {
	for _, names := range []int{1, 100, 10_000} {
		b.Run(fmt.Sprintf("names=%d", names), func(b *testing.B) {
			r := NewRing(4 << 20)
			i := 0
			next := func() *SessionRecord {
				i++
				var id SessionID
				binary.NativeEndian.PutUint64(id[:], uint64(i))
				return &SessionRecord{ID: id, Name: fmt.Sprint("GET /", i%names), Duration: time.Duration(i)}
			}
			for range 50_000 {
				_ = r.Append(next())
			}
			b.ReportAllocs()
			for b.Loop() {
				_ = r.Append(next())
			}
		})
	}
}
