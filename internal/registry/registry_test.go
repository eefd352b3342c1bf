package registry

import (
	"fmt"
	"strconv"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type named struct {
	name   string
	number int
}

func newNamed(limit int) *Registry[string, named] {
	return New(limit, String, func(n int) *named { return &named{"other", n} })
}

func of(r *Registry[string, named], name string) *named {
	if v := r.Get(name); v != nil {
		return v
	}
	return r.Add(name, func(n int) *named { return &named{name, n} })
}

// Each key has its own value, always the same, up to the limit, and all others share one.
func TestRegistry(t *testing.T) {
	for _, limit := range []int{0, 1, 7, 8, 9, 2000, 100_000} {
		r := newNamed(limit)
		const keys = 3000
		for range 2 {
			for i := range keys {
				name := strconv.Itoa(i)
				want := &named{name, i}
				if limit > 0 && i >= limit {
					want = &named{"other", limit}
				}
				if diff := cmp.Diff(want, of(r, name), cmp.AllowUnexported(named{})); diff != "" {
					t.Fatalf("limit %d (-want +got):\n%s", limit, diff)
				}
			}
		}
		want := keys
		if limit > 0 && limit < keys {
			want = limit + 1
		}
		if got := len(r.All()); got != want {
			t.Errorf("limit %d: %d values, want %d", limit, got, want)
		}
		for i, v := range r.All() {
			if v.number != i {
				t.Errorf("limit %d: value %d is at %d", limit, v.number, i)
			}
		}
	}
}

// What is asked for as other may come before the registry is full, and takes no key's place.
func TestRegistryOther(t *testing.T) {
	r := newNamed(3)
	other := r.Other()
	for i := range 3 {
		if got := of(r, strconv.Itoa(i)); got == other || got.name != strconv.Itoa(i) {
			t.Errorf("key %d has %+v, want one of its own", i, *got)
		}
	}
	if of(r, "3") != other || r.Other() != other {
		t.Error("the key beyond the limit does not have the value of the others")
	}
	if got := len(r.All()); got != 4 {
		t.Errorf("%d values, want 4", got)
	}
}

// A hash that says nothing makes it slow, not wrong.
func TestRegistryWithOneHash(t *testing.T) {
	r := New(100, func(string) uint64 { return 5 }, func(n int) *named { return &named{"other", n} })
	for range 2 {
		for i := range 100 {
			if got := of(r, strconv.Itoa(i)); got.name != strconv.Itoa(i) {
				t.Errorf("key %d has the value of %s", i, got.name)
			}
		}
	}
}

func TestRegistryConcurrentSafe(t *testing.T) {
	const limit, keys, goroutines = 500, 600, 8
	r := newNamed(limit)
	got := [goroutines][keys]*named{}
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			for range 20 {
				for i := range keys {
					k := (i*7 + g*31) % keys
					v := of(r, strconv.Itoa(k))
					if before := got[g][k]; before != nil && before != v {
						t.Errorf("key %d has two values", k)
					}
					got[g][k] = v
					if v.name != "other" && v.name != strconv.Itoa(k) {
						t.Errorf("key %d has the value of %s", k, v.name)
					}
					_ = r.All()
				}
			}
		})
	}
	wg.Wait()
	for g := range goroutines {
		if got[g] != got[0] {
			t.Error("goroutines have different values")
		}
	}
	if n := len(r.All()); n != limit+1 {
		t.Errorf("%d values, want %d", n, limit+1)
	}
}

func TestRegistryAllocs(t *testing.T) {
	r := newNamed(100)
	for i := range 200 {
		of(r, strconv.Itoa(i))
	}
	for _, key := range []string{"5", "150"} {
		if n := testing.AllocsPerRun(100, func() { of(r, key) }); n != 0 {
			t.Errorf("%v allocations for key %s, want 0", n, key)
		}
	}
}

func BenchmarkRegistry(b *testing.B) {
	for _, keys := range []int{10, 2000} {
		r, m := newNamed(keys), map[string]*named{}
		for i := range keys {
			name := fmt.Sprintf("GET /orders/%d", i)
			m[name] = of(r, name)
		}
		known := fmt.Sprintf("GET /orders/%d", keys/2)
		of(r, "beyond")
		b.Run(fmt.Sprintf("keys=%d/known", keys), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				of(r, known)
			}
		})
		b.Run(fmt.Sprintf("keys=%d/beyond", keys), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				of(r, "GET /orders/none")
			}
		})
		b.Run(fmt.Sprintf("keys=%d/map", keys), func(b *testing.B) {
			for b.Loop() {
				_ = m[known]
			}
		})
	}
	b.Run("add", func(b *testing.B) {
		names := make([]string, 100_000)
		for i := range names {
			names[i] = strconv.Itoa(i)
		}
		for b.Loop() {
			r := newNamed(0)
			for _, name := range names {
				of(r, name)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(names)), "ns/key")
	})
}
