package highrate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/otelprof/otelprof/internal/perf"
	"github.com/otelprof/otelprof/internal/perf/perftest"
	"github.com/otelprof/otelprof/internal/testutil"
	"github.com/otelprof/otelprof/spans/stacks"
)

// start skips where the machine permits no samples at all.
func start(t testing.TB) *Profiler {
	t.Helper()
	p, err := NewProfiler()
	if errors.Is(err, perf.ErrPermission) || errors.Is(err, ErrNotSupported) {
		testutil.Lacks(t, "SAMPLES", err.Error())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Shutdown(context.Background()); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
	})
	return p
}

var sink atomic.Uint64

// spinOuter and spinInner are on the stack of all samples that spin takes.
//
//go:noinline
func spinOuter(until func() bool) { spinInner(until) }

//go:noinline
func spinInner(until func() bool) {
	for !until() {
		spinLeaf()
	}
}

//go:noinline
func spinLeaf() {
	sink.Store(mix(100_000))
}

// mix is inlined.
func mix(n uint64) uint64 {
	x := uint64(1)
	for i := range n {
		x = x*6364136223846793005 + i
	}
	return x
}

// cpuUsed returns a condition that is met when this thread has used d of CPU time.
func cpuUsed(d time.Duration) func() bool {
	var u perf.Usage
	_ = perf.ThreadUsage(&u)
	begin := u.CPU
	return func() bool { _ = perf.ThreadUsage(&u); return u.CPU-begin >= d }
}

// spin uses d of CPU time on a thread of its own, which ends with it.
func spin(d time.Duration) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		spinOuter(cpuUsed(d))
	}()
	<-done
}

// whole returns the samples of a function's nodes that have no node of it above them.
func whole(t *stacks.Tree, function string) (n int64) {
	t.Visit(func(node stacks.Node) bool {
		is := strings.HasSuffix(node.Func, function)
		if is {
			n += node.Whole.Samples
		}
		return !is
	}, nil)
	return n
}

// within fails unless the samples stand for the time to within 5 %. A busy machine makes no
// difference: both sides are CPU time.
func within(t *testing.T, what string, samples int64, s Stats, want time.Duration) {
	t.Helper()
	got := time.Duration(samples) * s.Period
	t.Logf("%s: %d samples, %v of %v CPU time (%.3f)", what, samples, got, want, float64(got)/float64(want))
	if r := float64(got) / float64(want); r < 0.95 || r > 1.05 {
		t.Errorf("%s: samples stand for %v, CPU time used is %v: must be within 5 %%", what, got, want)
	}
}

func TestProfilerAccountsForCPU(t *testing.T) {
	p := start(t)
	// A thread that started before, others that start and end meanwhile.
	var threads sync.WaitGroup
	for range 3 {
		threads.Go(func() { spin(500 * time.Millisecond) })
	}
	threads.Wait()
	if err := p.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	s, tree := p.Stats(), p.Tree()
	t.Logf("%+v", s)
	within(t, "process", int64(s.Samples), s, s.CPU)
	within(t, "three threads that started later", whole(tree, ".spinOuter"), s, 1500*time.Millisecond)
	if tree.Total().Samples != int64(s.Samples) {
		t.Errorf("tree has %d samples, Stats %d", tree.Total().Samples, s.Samples)
	}
	if got := time.Duration(tree.Total().Nanos); got != time.Duration(s.Samples)*time.Millisecond {
		t.Errorf("tree has %v, want a millisecond for each of %d samples", got, s.Samples)
	}
	if s.Malformed != 0 {
		t.Errorf("%d malformed records, want none", s.Malformed)
	}
}

func TestProfilerFollowsOldThreads(t *testing.T) {
	var stop atomic.Bool
	var spinning, ready sync.WaitGroup
	for range 2 {
		ready.Add(1)
		spinning.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			ready.Done()
			spinOuter(stop.Load)
		})
	}
	ready.Wait()
	p := start(t)
	for p.Stats().CPU < 200*time.Millisecond {
		time.Sleep(10 * time.Millisecond)
	}
	stop.Store(true)
	spinning.Wait()
	s, n := p.Stats(), whole(p.Tree(), ".spinOuter")
	if n*2 < int64(s.Samples) {
		t.Errorf("%d of %d samples are of the threads that run: must be most", n, s.Samples)
	}
}

// TestStackIsWhole looks at a stack of which one function is inlined, and one, the innermost that
// is not, calls nothing and has no frame.
func TestStackIsWhole(t *testing.T) {
	p := start(t)
	spin(300 * time.Millisecond)
	want := []string{"mix", "spinLeaf", "spinInner", "spinOuter", "spin.func1", "goexit"}
	if runtime.GOARCH != "amd64" {
		want = slices.DeleteFunc(want, func(name string) bool { return name == "spinInner" })
	}
	var whole, all int64
	p.Tree().Leaves(func(stack []stacks.Frame, w stacks.Weight) {
		var names []string
		for _, f := range stack {
			names = append(names, f.Func[strings.LastIndex(f.Func, "/")+1:])
		}
		if !slices.Contains(names, "highrate.spinOuter") {
			return
		}
		all += w.Samples
		for i := range want {
			if i >= len(names) || strings.TrimPrefix(strings.TrimPrefix(names[i], "highrate."), "runtime.") != want[i] {
				t.Logf("%d samples of %v", w.Samples, names)
				return
			}
		}
		whole += w.Samples
	})
	// The rest of the time goes to the clock.
	if all == 0 || whole*10 < all*8 {
		t.Errorf("%d of %d samples have the stack %v: must be nearly all", whole, all, want)
	}
}

func TestFramesHaveNoDirectories(t *testing.T) {
	p := start(t)
	spin(100 * time.Millisecond)
	p.Tree().Visit(func(n stacks.Node) bool {
		if n.File != filepath.Base(n.File) && n.File != "" {
			t.Errorf("frame %+v: file must be a base name", n.Frame)
		}
		return true
	}, nil)
}

func TestStopTwice(t *testing.T) {
	p := start(t)
	spin(20 * time.Millisecond)
	for range 2 {
		if err := p.Shutdown(context.Background()); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
	}
	before := p.Stats()
	spin(20 * time.Millisecond)
	if after := p.Stats(); after != before {
		t.Errorf("Stats after Stop = %+v, then %+v: must not change", before, after)
	}
}

func TestProfilerConcurrentSafe(t *testing.T) {
	p := start(t)
	var users sync.WaitGroup
	for range 4 {
		users.Go(func() {
			for range 20 {
				_ = p.Tree().Len()
				_ = p.Stats()
				runtime.Gosched()
			}
		})
	}
	users.Go(func() { spin(20 * time.Millisecond) })
	users.Go(func() { _ = p.Shutdown(context.Background()) })
	users.Wait()
}

func init() {
	children["ordinary"] = func() error {
		p, err := NewProfiler()
		if err != nil {
			return err
		}
		spin(500 * time.Millisecond)
		if err := p.Shutdown(context.Background()); err != nil {
			return err
		}
		s := p.Stats()
		accounted := float64(s.Samples) * float64(s.Period) / float64(s.CPU)
		fmt.Printf("uid %d: %+v accounted %.3f\n", os.Getuid(), s, accounted)
		spun := whole(p.Tree(), ".spinOuter")
		// An ordinary user has no samples of the interrupts that the 500 ms contain, which are more
		// on a busy machine.
		least := min(450*time.Millisecond, s.CPU*95/100)
		if got := time.Duration(spun) * s.Period; got < least || got > 525*time.Millisecond {
			return fmt.Errorf("samples stand for %v: must be %v to 525 of 500ms", got, least)
		}
		return nil
	}
	children["EMFILE"] = func() error {
		if err := perftest.LimitFiles(10); err != nil {
			return err
		}
		_, err := NewProfiler()
		if !errors.Is(err, perf.ErrTooManyFiles) || !strings.Contains(err.Error(), "ulimit -n") {
			return fmt.Errorf("NewProfiler = %w, want ErrTooManyFiles with a remedy", err)
		}
		return nil
	}
	for name, errno := range map[string]syscall.Errno{"EPERM": syscall.EPERM, "ENOSYS": syscall.ENOSYS} {
		children[name] = func() error {
			if err := perftest.DenyPerf(errno); err != nil {
				return err
			}
			_, err := NewProfiler()
			if !errors.Is(err, perf.ErrPermission) || !strings.Contains(err.Error(), "seccomp") {
				return fmt.Errorf("NewProfiler = %w, want ErrPermission that names seccomp", err)
			}
			return nil
		}
	}
}

// inChild runs one of the children, as user 65534 if this is root's and ordinary is set.
func inChild(t *testing.T, name string, ordinary bool) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.Command(self)
	child.Env = append(os.Environ(), childVariable+"="+name)
	if ordinary && os.Getuid() == 0 {
		// Where the test binary lies is often root's alone; an open file can be run all the same.
		f, err := os.Open(self)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		child.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		child.ExtraFiles = []*os.File{f}
		child.Path, child.Dir = "/proc/self/fd/3", "/"
	}
	out, err := child.CombinedOutput()
	if err != nil {
		t.Errorf("child %s: %v: %s", name, err, out)
	}
	t.Logf("%s", out)
}

func TestOrdinaryUser(t *testing.T) {
	level := perf.ReadFiles(os.DirFS("/")).Paranoid
	if level == nil || *level > 2 {
		testutil.Lacks(t, "PARANOID_2", "kernel.perf_event_paranoid is above 2")
	}
	start(t) // or skip
	inChild(t, "ordinary", true)
}

func TestTooFewFiles(t *testing.T) {
	start(t)
	inChild(t, "EMFILE", false)
}

func TestSeccompDenies(t *testing.T) {
	inChild(t, "EPERM", false)
	inChild(t, "ENOSYS", false)
}
