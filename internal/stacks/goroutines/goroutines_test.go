package goroutines

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelprof/otelprof/internal/testutil"
)

const crash = `panic: something
ignored line (0x1)

goroutine 1 [running]:
main.main()
	/home/ann/shop/main.go:12 +0x1d

goroutine 7 [chan receive, 5 minutes, locked to thread]:
main.(*pool).take(0xc000012345, {0x1, 0x2, ...})
	C:/Users/ann/shop/pool.go:30 +0x1d
main.worker[...](...)
	/home/ann/shop/worker.go:7
created by main.main in goroutine 1
	/home/ann/shop/main.go:10 +0x55

goroutine 8 gp=0xc000007c00 m=nil [chan receive, 2 minutes]:
main.(*pool).take(0xc000012345, {0x1, 0x2, ...})
	/home/ann/shop/pool.go:30 +0x1d
main.worker[...](...)
	/home/ann/shop/worker.go:9
created by main.main in goroutine 1
	/home/ann/shop/main.go:10 +0x55

goroutine 9 [runnable]:
	goroutine running on other thread; stack unavailable
goroutine 10 [runnable]:
main.deep(0x1)
	/home/ann/shop/deep.go:3 +0x2
...additional frames elided...
created by main.main in goroutine 1
	/home/ann/shop/main.go:10 +0x55
`

// However many reasons and calls a text has, what is kept of it is bounded.
func TestReadIsBounded(t *testing.T) {
	var text strings.Builder
	for n := range 3 * maxReasons {
		fmt.Fprintf(&text, "goroutine %d [reason %d]:\nmain.main()\n\n", n+1, n)
	}
	text.WriteString("goroutine 1 [reason 0]:\n" + strings.Repeat("main.deep()\n", 2*maxCallsRead))
	d, err := Read(strings.NewReader(text.String()))
	if err != nil {
		t.Fatal(err)
	}
	if first := d.Groups[0]; d.Count != 3*maxReasons+1 || len(d.Groups) != maxReasons+1 || first.Reason != "other" || first.Count != 2*maxReasons {
		t.Errorf("%d goroutines in %d groups, the first of %d for %q; want %d in %d, 2000 for other", d.Count, len(d.Groups), first.Count, first.Reason, 3*maxReasons+1, maxReasons+1)
	}
	if got := d.Groups[1].Tree.Len(); d.Groups[1].Reason != "reason 0" || got != maxCallsRead+1 {
		t.Errorf("%d calls for %q, want %d for reason 0", got, d.Groups[1].Reason, maxCallsRead+1)
	}
}

func TestRead(t *testing.T) {
	d, err := Read(strings.NewReader(crash))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := d.WriteText(&b, 0); err != nil {
		t.Fatal(err)
	}
	want := `5 goroutines

       2  [chan receive], one for 5 minutes
       1    main.worker[...]  worker.go:7
       1    main.(*pool).take  pool.go:30
       1    main.worker[...]  worker.go:9
       1    main.(*pool).take  pool.go:30

       2  [runnable]
       1    [calls left out]
       1    main.deep  deep.go:3

       1  [running]
       1    main.main  main.go:12
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
	for _, secret := range []string{"ann", "0x", "gp="} {
		if strings.Contains(b.String(), secret) {
			t.Errorf("the text has %q", secret)
		}
	}
	b.Reset()
	if err := d.WriteText(&b, 2); err != nil || strings.Contains(b.String(), "main.main") {
		t.Errorf("calls of two or more: %v\n%s", err, &b)
	}
}

func TestReadRefuses(t *testing.T) {
	for _, text := range []string{"", "hello\n", "goroutine x [running]:\n", "goroutine 1 running:\n", strings.Repeat("x", maxLine+1)} {
		if d, err := Read(strings.NewReader(text)); !errors.Is(err, ErrFormat) {
			t.Errorf("%.30q: %v, %v; want ErrFormat", text, d, err)
		}
	}
	_, err := Read(strings.NewReader("short\n" + strings.Repeat("x", maxLine+1)))
	if want := fmt.Sprintf("line 2: must be shorter than %d bytes", maxLine); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("long line: %v, want an error with %q", err, want)
	}
}

// stuck waits for a lock, below a call that its goroutines have in common.
func stuck(mu *sync.Mutex) {
	mu.Lock()
	defer mu.Unlock()
}

// TestNow has goroutines hang for three reasons, and wants each found.
func TestNow(t *testing.T) {
	var mu sync.Mutex
	mu.Lock()
	quit := make(chan struct{})
	var all sync.WaitGroup
	for range 5 {
		all.Go(func() { stuck(&mu) })
	}
	for range 3 {
		all.Go(func() { <-quit })
	}
	all.Go(func() {
		select {
		case <-quit:
		case <-time.After(time.Hour):
		}
	})
	defer all.Wait()
	defer close(quit)
	defer mu.Unlock()

	want := map[string]int{"sync.Mutex.Lock": 5, "chan receive": 3, "select": 1, "running": 1}
	var d *Dump
	testutil.Eventually(func() bool { // until all wait
		var err error
		if d, err = Now(); err != nil {
			t.Fatal(err)
		}
		return count(d, "sync.Mutex.Lock") >= 5 && count(d, "chan receive") >= 3 && count(d, "select") >= 1
	})
	for reason, n := range want {
		if got := count(d, reason); got < n {
			t.Errorf("%d goroutines in %q, want %d", got, reason, n)
		}
	}
	if d.Count < 10 {
		t.Errorf("%d goroutines, want ten or more", d.Count)
	}
	var b strings.Builder
	if err := d.WriteText(&b, 0); err != nil || !strings.Contains(b.String(), "       5    github.com/otelprof/otelprof/internal/stacks/goroutines.stuck  goroutines_test.go:") {
		t.Errorf("%v, no line of the five that are stuck:\n%s", err, &b)
	}
}

func count(d *Dump, reason string) int {
	for _, g := range d.Groups {
		if g.Reason == reason {
			return g.Count
		}
	}
	return 0
}

func TestNowTakesHalfOfTheMemoryThatIsLeft(t *testing.T) {
	for _, tt := range []struct {
		n    int
		left int64
		ok   bool
	}{
		{10_000, 60 << 20, true}, {10_000, 58 << 20, false}, {1, -1, false}, {maxGoroutines, math.MaxInt64, true}, {maxGoroutines + 1, math.MaxInt64, false},
	} {
		if err := affordable(tt.n, tt.left); (err == nil) != tt.ok {
			t.Errorf("affordable(%d, %d) = %v, want an error: %v", tt.n, tt.left, err, !tt.ok)
		}
	}
	// Where it is not known how much memory is left, none is named.
	if err := affordable(maxGoroutines+1, math.MaxInt64); err == nil || strings.Contains(err.Error(), "MiB") {
		t.Errorf("affordable(%d, %d) = %v, want an error without memory", maxGoroutines+1, int64(math.MaxInt64), err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(crash)
	f.Add("goroutine 1 []:\n(\n)\n\t:\n")
	f.Fuzz(func(t *testing.T, text string) {
		d, err := Read(strings.NewReader(text))
		if err != nil {
			return
		}
		n := 0
		for _, g := range d.Groups {
			n += g.Count
		}
		if n != d.Count || n == 0 {
			t.Errorf("%d goroutines in groups, %d in all", n, d.Count)
		}
		var b strings.Builder
		if err := d.WriteText(&b, 1); err != nil {
			t.Error(err)
		}
	})
}

func BenchmarkNow(b *testing.B) {
	quit := make(chan struct{})
	var all sync.WaitGroup
	const n = 1000
	for range n {
		all.Go(func() { <-quit })
	}
	for b.Loop() {
		if _, err := Now(); err != nil {
			b.Fatal(err)
		}
	}
	buf := make([]byte, 4<<20)
	start := time.Now()
	for range 10 {
		runtime.Stack(buf, true)
	}
	b.ReportMetric(float64(time.Since(start).Microseconds())/10/n, "µs-stopped/goroutine")
	close(quit)
	all.Wait()
}
