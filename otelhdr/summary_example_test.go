package otelhdr_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/otelprof/otelprof/otelhdr"
)

func ExampleSummary() {
	h, err := otelhdr.NewHistogram(otelhdr.WithRelativeError(0.01))
	if err != nil {
		fmt.Println(err)
		return
	}
	for v := range uint64(1000) {
		h.Record(v)
	}
	before := h.Summary(nil)
	h.Reset()
	for v := range uint64(1000) {
		h.Record(v * 9 / 10)
	}
	after := h.Summary(nil)
	fmt.Println(before)
	fmt.Print(otelhdr.Diff{Before: before, After: after}.Markdown("Index added", "before", "after"))
	// Output:
	// Total=1,000, Overflow=0, Mean=499.5, P0=0, P25=249, P50=498, P90=900, P95=948, P99=988, P999=996, P100=999
	// ##### Index added
	// | Percentile |  before |   after |     Δ% |
	// | :--------- | ------: | ------: | -----: |
	// | 0          |       0 |       0 |   0.0% |
	// | 1          |       9 |       8 | -11.1% |
	// | 5          |      49 |      44 | -10.2% |
	// | 10         |      99 |      89 | -10.1% |
	// | 25         |     249 |     225 |  -9.6% |
	// | 50         |     498 |     450 |  -9.6% |
	// | 75         |     748 |     676 |  -9.6% |
	// | 90         |     900 |     812 |  -9.8% |
	// | 92.5       |     924 |     828 | -10.4% |
	// | 95         |     948 |     852 | -10.1% |
	// | 97.5       |     972 |     876 |  -9.9% |
	// | 99         |     988 |     892 |  -9.7% |
	// | 99.9       |     996 |     899 |  -9.7% |
	// | 99.99      |     996 |     899 |  -9.7% |
	// | 99.999     |     996 |     899 |  -9.7% |
	// | 100        |     999 |     899 | -10.0% |
	// |            |         |         |        |
	// | Mean:      |  499.50 |  449.10 | -10.1% |
	// | StDev:     |  288.77 |  259.92 | -10.0% |
	// | Precision: | 0.7813% | 0.7813% |   0.0% |
	// | Total:     |   1,000 |   1,000 |   0.0% |
	// | D-value:   |         |         |  -0.18 |
}

func ExampleSnapshot_BucketPercentiles() {
	h, err := otelhdr.NewHistogram(otelhdr.WithRelativeError(0.1), otelhdr.WithRange(50, 1000))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, v := range []uint64{60, 100, 101, 102, 500} {
		h.Record(v)
	}
	for p := range h.Snapshot(nil).BucketPercentiles() {
		fmt.Println(p)
	}
	// Output:
	// P20=62 [3 / 31]: [60, 64) 1
	// P80=100 [8 / 36]: [96, 104) 3
	// P100=496 [27 / 55]: [480, 512) 1
}

func ExampleConcurrent_Recorder() {
	c, err := otelhdr.NewConcurrent()
	if err != nil {
		fmt.Println(err)
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		r := c.Recorder()
		defer r.Close()
		for v := range uint64(1000) {
			r.Record(v)
		}
	}()
	<-done
	fmt.Println(c.Count())
	// Output: 1000
}

func ExampleHistogram_Time() {
	h, err := otelhdr.NewHistogram()
	if err != nil {
		fmt.Println(err)
		return
	}
	func() {
		defer h.Time(time.Microsecond).Stop()
		time.Sleep(2 * time.Millisecond)
	}()
	fmt.Println(h.Count(), h.Snapshot(nil).Min() >= 2000)
	// Output: 1 true
}

func ExampleMonitor() {
	c, err := otelhdr.NewConcurrent()
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	go func() {
		if err := otelhdr.Monitor(ctx, os.Stderr, "checkout", time.Second, c); err != nil {
			fmt.Println(err)
		}
	}()
	c.Record(42)
}
