package otelhdr_test

import (
	"fmt"
	"sync"
	"time"

	"github.com/otelprof/otelprof/otelhdr"
)

func Example() {
	latency, err := otelhdr.NewConcurrent(otelhdr.WithRelativeError(0.01))
	if err != nil {
		fmt.Println(err)
		return
	}

	var workers sync.WaitGroup
	for range 4 {
		workers.Go(func() {
			for ms := 1; ms <= 1000; ms++ {
				latency.Record(uint64(time.Duration(ms) * time.Millisecond))
			}
		})
	}
	workers.Wait()

	s := latency.Snapshot(nil)
	p := s.Percentiles([]float64{50, 99, 100}, nil)
	fmt.Println("count", s.Count())
	fmt.Println("mean ", time.Duration(s.Mean()))
	fmt.Println("p50  ", time.Duration(p[0]).Round(time.Millisecond))
	fmt.Println("p99  ", time.Duration(p[1]).Round(time.Millisecond))
	fmt.Println("max  ", time.Duration(p[2]))
	// Output:
	// count 4000
	// mean  500.5ms
	// p50   501ms
	// p99   994ms
	// max   1s
}

func ExampleSnapshot_Since() {
	h, err := otelhdr.NewHistogram()
	if err != nil {
		fmt.Println(err)
		return
	}
	cur, prev := new(otelhdr.Snapshot), new(otelhdr.Snapshot)
	for _, values := range [][]uint64{{10, 20, 30}, {5}, {}, {40, 60}} {
		for _, v := range values {
			h.Record(v)
		}
		cur = h.Snapshot(cur)
		delta := cur.Since(prev, prev)
		fmt.Printf("%d values, mean %v, max %d\n", delta.Count(), delta.Mean(), delta.Max())
		prev, cur = cur, delta
	}
	// Output:
	// 3 values, mean 20, max 30
	// 1 values, mean 5, max 5
	// 0 values, mean 0, max 0
	// 2 values, mean 50, max 60
}

func ExampleSnapshot_Buckets() {
	h, err := otelhdr.NewHistogram(otelhdr.WithRelativeError(0.1), otelhdr.WithRange(0, 1000))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, v := range []uint64{3, 3, 100, 101, 5000} {
		h.Record(v)
	}
	for b := range h.Snapshot(nil).Buckets() {
		fmt.Printf("[%d, %d] %d\n", b.Low, b.High, b.Count)
	}
	// Output:
	// [3, 3] 2
	// [96, 103] 2
	// [1024, 5000] 1
}
