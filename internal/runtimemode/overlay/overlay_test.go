package overlay

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/otelprof/otelprof/internal/testutil"
)

// goRoot returns this machine's toolchain.
func goRoot(t *testing.T) toolchain {
	t.Helper()
	known, err := ask("")
	if err != nil {
		testutil.Lacks(t, "GO", "needs the go command: "+err.Error())
	}
	return known
}

func TestFilesOfThisGo(t *testing.T) {
	known := goRoot(t)
	files, err := rewritten(known.GOROOT, known.GOVERSION)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range edits {
		before, err := os.ReadFile(filepath.Join(known.GOROOT, "src", e.file))
		if err != nil {
			t.Fatal(err)
		}
		after := files[e.file]
		if got, want := bytes.Count(after, []byte("\n")), bytes.Count(before, []byte("\n")); got != want {
			t.Errorf("%s: %d lines, want %d as before", e.file, got, want)
		}
		if !bytes.Contains(after, []byte("otelprof")) || bytes.Contains(before, []byte("otelprof")) {
			t.Errorf("%s: not rewritten, or twice", e.file)
		}
	}
	for _, added := range []string{"runtime/otelprof.go", "runtime/otelprof_switch.go", "runtime/otelprof_pay.go", "runtime/otelprof_watch.go", "runtime/otelprof_api.go", "runtime/otelprof_objects.go", "runtime/otelprof_log.go", "sync/otelprof.go", "internal/sync/otelprof.go"} {
		if files[added] == nil {
			t.Errorf("%s is missing", added)
		}
	}
}

// copySources returns a GOROOT with the files that are rewritten.
func copySources(t *testing.T) string {
	t.Helper()
	known, root := goRoot(t), t.TempDir()
	names := []string{"runtime/traceruntime.go"} // of which names are taken
	for _, e := range edits {
		names = append(names, e.file)
	}
	for _, name := range names {
		path := filepath.Join(root, "src", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(known.GOROOT, "src", name))
		if err == nil {
			err = os.WriteFile(path, text, 0o444)
		}
		if err != nil && !errors.Is(err, os.ErrPermission) { // it is there from the edit before
			t.Fatal(err)
		}
	}
	return root
}

// A runtime that is not as it should be is refused, with the function that is not.
func TestMissingAnchors(t *testing.T) {
	for _, tc := range []struct{ file, old, new, want string }{
		{"runtime/proc.go", "func casgstatus(gp *g, oldval, newval uint32)", "func casgstatus(gp *g, oldval, newval uint64)", "runtime/proc.go: func casgstatus: parameters (*g, uint64, uint64): must be (*g, uint32, uint32)"},
		{"runtime/proc.go", "!gp.atomicstatus.CompareAndSwap(oldval, newval); i++", "gp != nil; i++", "func casgstatus: for !gp.atomicstatus.CompareAndSwap(oldval, newval): found 0 times, must be once"},
		{"runtime/proc.go", "CompareAndSwap(_Grunning, _Gscan|_Gpreempted)", "CompareAndSwap(_Grunning, _Gpreempted)", "func casGToPreemptScan: for"},
		{"runtime/proc.go", "func retake(", "func took(", "func retake: missing"},
		{"runtime/proc.go", "pd.schedwhen = now", "pd.schedwhen = 0", "func retake: pd.schedwhen = now"},
		{"runtime/proc.go", ".schedwhen+forcePreemptNS <= now", ".schedwhen+forcePreemptNS < now", "func retake: if …"},
		{"runtime/coro.go", "canCAS := true", "canCAS := false", "func coroswitch_m"},
		{"runtime/time.go", "goready(arg.(*g)", "goready(arg.(*m)", "func goroutineReady"},
		{"runtime/netpoll.go", "func poll_runtime_pollWait(", "func pollWait(", "func poll_runtime_pollWait: missing"},
		{"runtime/chan.go", "return true, success", "return success, true", "func chanrecv"},
		{"runtime/select.go", "return casi, recvOK", "return casi, true", "func selectgo"},
		{"runtime/runtime2.go", "type g struct", "type gg struct", "type g: missing"},
		{"runtime/runtime2.go", "*synctestBubble", "*bubble", "type g: field bubble *synctestBubble: found 0 times"},
		{"runtime/runtime2.go", "type p struct", "type p []struct", "type p: must be a struct"},
		{"runtime/runtime2.go", "package runtime", "package", "runtime/runtime2.go:"},
		{"runtime/trace.go", "trace.enabled = true", "trace.enabled = !false", "func StartTrace: trace.enabled = true: found 0 times"},
		{"runtime/trace.go", "trace.enabled = false", "trace.enabled = !true", "func traceAdvance: trace.enabled = false: found 0 times"},
		{"runtime/trace.go", "func traceRegisterLabelsAndReasons(gen uintptr)", "func traceRegisterLabelsAndReasons(gen int)", "func traceRegisterLabelsAndReasons: parameters (int): must be (uintptr)"},
		{"runtime/tracetime.go", "const traceTimeDiv", "var traceTimeDiv", "const traceTimeDiv: missing"},
		{"runtime/traceruntime.go", "tl.uniqueString(message), tl.stack(3)", "tl.stack(3), tl.uniqueString(message)", "runtime/traceruntime.go: func trace_userLog: tl.eventWriter(…)"},
		{"runtime/chan.go", "	return c\n", "	return (c)\n", "func makechan: return c"},
		{"runtime/chan.go", "if c.qcount < c.dataqsiz", "if c.dataqsiz > c.qcount", "func chansend: if c.qcount < c.dataqsiz: found 0 times"},
		{"runtime/chan.go", "if sg := c.recvq.dequeue(); sg", "if sg := c.recvq.first; sg", "func chansend: if sg := c.recvq.dequeue(); sg != nil"},
		{"runtime/chan.go", "if sg := c.sendq.dequeue(); sg", "if sg := c.sendq.first; sg", "func chanrecv: if sg := c.sendq.dequeue(); sg != nil"},
		{"runtime/chan.go", "c.closed = 1", "c.closed++", "func closechan: c.closed = 1"},
		{"runtime/select.go", "bufrecv:", "fromBuffer:", "func selectgo: label bufrecv"},
		{"runtime/select.go", "recvOK = caseSuccess", "recvOK = true", "func selectgo: recvOK = caseSuccess"},
		{"runtime/select.go", "if !caseSuccess", "if caseSuccess == false", "func selectgo: if casi < nsends with the end of a wait"},
		{"sync/mutex.go", "m.mu.Lock()", "m.mu.Lock(); return", "sync/mutex.go: func Mutex.Lock: must be m.mu.Lock() and nothing else"},
		{"internal/sync/mutex.go", "unlockSlow(new int32)", "unlockSlow(new int64)", "internal/sync/mutex.go: func Mutex.unlockSlow: parameters (int64)"},
		{"sync/rwmutex.go", "rw.readerCount.Add(1) < 0", "0 > rw.readerCount.Add(1)", "func RWMutex.RLock"},
		{"sync/rwmutex.go", "if r := rw.readerCount.Add(-1); r < 0", "if r := rw.readerCount.Add(-1); r <= -1", "func RWMutex.RUnlock"},
		{"sync/rwmutex.go", "r := rw.readerCount.Add(rwmutexMaxReaders)", "r := rw.readerCount.Add(1 << 30)", "func RWMutex.Unlock"},
		{"sync/waitgroup.go", "if v == 0 {", "if 0 == v {", "func WaitGroup.Wait: if v == 0"},
		{"sync/cond.go", "runtime_notifyListNotifyOne(&c.notify)", "notifyOne(&c.notify)", "func Cond.Signal: runtime_notifyListNotifyOne(…)"},
	} {
		t.Run(tc.want, func(t *testing.T) {
			root := copySources(t)
			path := filepath.Join(root, "src", tc.file)
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Contains(text, []byte(tc.old)) {
				t.Skipf("%s has no %q in this version", tc.file, tc.old)
			}
			if err := errors.Join(os.Remove(path), os.WriteFile(path, bytes.Replace(text, []byte(tc.old), []byte(tc.new), 1), 0o444)); err != nil {
				t.Fatal(err)
			}
			_, err = rewritten(root, "go1.26.1")
			if !errors.Is(err, errUnsupported) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("rewritten = %v, want %v and %q", err, errUnsupported, tc.want)
			}
		})
	}
}

func TestOtherVersions(t *testing.T) {
	root := goRoot(t).GOROOT
	t.Setenv(untested, "")
	for version, why := range map[string]string{
		"go1.25.11": "", "go1.9": "", "devel go1.28-abcdef": "", "": "",
		"go1.28rc1": "; all functions are as they should be there, but", "go1.30.1": "; all functions",
	} {
		if _, err := rewritten(root, version); !errors.Is(err, errUnsupported) || !strings.Contains(err.Error(), "must be go1.26 to go1.27"+why) {
			t.Errorf("rewritten(%q) = %v, want %v", version, err, errUnsupported)
		}
	}
	for _, version := range []string{"go1.26", "go1.26rc2", "go1.26.8", "go1.26.8-X:nogreenteagc", "go1.26.8 X:nogreenteagc", "go1.26-company", "go1.27.4"} {
		if _, err := rewritten(root, version); err != nil {
			t.Errorf("rewritten(%q) = %v", version, err)
		}
	}
}

// A later version may be tried, but not with a runtime that is not as it should be, nor an older
// one.
func TestUntestedVersions(t *testing.T) {
	t.Setenv(untested, "1")
	if _, err := rewritten(goRoot(t).GOROOT, "go1.28rc1"); err != nil {
		t.Errorf("rewritten(go1.28rc1) with %s = %v", untested, err)
	}
	if _, err := rewritten(goRoot(t).GOROOT, "go1.25.11"); !errors.Is(err, errUnsupported) {
		t.Errorf("rewritten(go1.25.11) with %s = %v, want %v", untested, err, errUnsupported)
	}
	if _, err := rewritten(t.TempDir(), "go1.28rc1"); !errors.Is(err, errUnsupported) || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("rewritten(go1.28rc1) of an empty folder with %s = %v, want %v and %v", untested, err, errUnsupported, os.ErrNotExist)
	}
}

// What go.mod admits, otelprof build takes.
func TestOldestIsOfThisModule(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	if want := "\ngo " + strings.TrimPrefix(oldest, "go") + ".0\n"; !strings.Contains(string(text), want) {
		t.Errorf("go.mod has no line %q", want)
	}
}

func TestWriteMerges(t *testing.T) {
	folder, root := t.TempDir(), t.TempDir()
	files := map[string][]byte{"runtime/proc.go": []byte("package runtime\n")}
	mine := filepath.Join(root, "src", "runtime", "proc.go")
	document, err := merge(folder, root, files, map[string]string{"/a/b.go": "/c/d.go", "/a/gone.go": ""})
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	var got replacements
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if replaced, err := os.ReadFile(got.Replace[mine]); err != nil || !bytes.Equal(replaced, files["runtime/proc.go"]) {
		t.Errorf("%s holds %q, %v", mine, replaced, err)
	}
	delete(got.Replace, mine)
	if diff := cmp.Diff(map[string]string{"/a/b.go": "/c/d.go", "/a/gone.go": ""}, got.Replace); diff != "" {
		t.Errorf("the user's replacements differ, -want +got:\n%s", diff)
	}
	if _, err := merge(folder, root, files, map[string]string{mine: "/mine.go"}); err == nil || !strings.Contains(err.Error(), mine) {
		t.Errorf("merge with a clash = %v, want an error that names %s", err, mine)
	}
}

func TestWriteConcurrentSafe(t *testing.T) {
	folder, root := t.TempDir(), t.TempDir()
	files := map[string][]byte{"runtime/proc.go": bytes.Repeat([]byte("x"), 1<<16)}
	var wg sync.WaitGroup
	documents := make([]string, 16)
	for i := range documents {
		wg.Go(func() {
			var err error
			if documents[i], err = merge(folder, root, files, nil); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, d := range documents {
		if d != documents[0] {
			t.Errorf("document %s, want %s", d, documents[0])
		}
	}
	left, err := filepath.Glob(filepath.Join(folder, "*", ".*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left over: %v, %v", left, err)
	}
}

// A file that was cut short, or changed, is written anew.
func TestWriteRepairs(t *testing.T) {
	folder := t.TempDir()
	path, err := store(folder, "a.go", []byte("whole"))
	if err == nil {
		err = os.WriteFile(path, []byte("wh"), 0o666)
	}
	if err == nil {
		_, err = store(folder, "a.go", []byte("whole"))
	}
	if text, readErr := os.ReadFile(path); err != nil || readErr != nil || string(text) != "whole" {
		t.Errorf("%q, %v, %v, want it whole", text, err, readErr)
	}
	if _, err := store(filepath.Join(path, "below"), "a.go", nil); err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "must be writable, or $") {
		t.Errorf("a folder that cannot be: %v, want an error that names it and the variable to set", err)
	}
}

// No other user reads what is built, or changes it before the compiler reads it.
func TestFilesAreForTheirOwner(t *testing.T) {
	if runtime.GOOS == "windows" {
		testutil.Lacks(t, "MODES", "files have no modes")
	}
	folder := t.TempDir()
	path, err := store(filepath.Join(folder, "otelprof", "overlay"), "runtime/proc.go", []byte("package runtime"))
	if err != nil {
		t.Fatal(err)
	}
	for want := fs.FileMode(0o600); path != folder; path, want = filepath.Dir(path), 0o700 {
		if i, err := os.Stat(path); err != nil || i.Mode().Perm() != want {
			t.Errorf("%s: mode %v, %v, want %v", path, i.Mode(), err, want)
		}
	}
}

func TestReachable(t *testing.T) {
	if runtime.GOOS == "windows" {
		testutil.Lacks(t, "SYMLINKS", "symbolic links need a privilege")
	}
	cache, modules := filepath.Join(t.TempDir(), "otelprof", "overlay"), t.TempDir()
	downloaded := filepath.Join(modules, "golang.org", "toolchain@v0.0.1-go1.26.0.linux-amd64")
	if err := os.MkdirAll(filepath.Join(downloaded, "src"), 0o777); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second finds the link of the first
		got, err := toolchain{GOROOT: downloaded, GOMODCACHE: modules}.reachable(cache)
		if err != nil || strings.HasPrefix(got, modules) {
			t.Fatalf("reachable = %q, %v, want a path outside %s", got, err, modules)
		}
		if _, err := os.Stat(filepath.Join(got, "src")); err != nil {
			t.Error(err)
		}
	}
	// What the compiler reads from there is checked before it reads it: no other user may change
	// it.
	if runtime.GOOS != "windows" {
		for _, dir := range []string{cache, filepath.Dir(cache)} {
			if i, err := os.Stat(dir); err != nil || i.Mode().Perm() != 0o700 {
				t.Errorf("%s has mode %v, %v, want 0700", dir, i.Mode(), err)
			}
		}
	}
	// A link that leads elsewhere, in a cache of others, would have another go run.
	links, err := filepath.Glob(filepath.Join(cache, "goroot-*"))
	if err != nil || len(links) != 1 {
		t.Fatalf("links %q, %v, want one", links, err)
	}
	if err := errors.Join(os.Remove(links[0]), os.Symlink(t.TempDir(), links[0])); err != nil {
		t.Fatal(err)
	}
	if got, err := (toolchain{GOROOT: downloaded, GOMODCACHE: modules}).reachable(cache); err == nil || !strings.Contains(err.Error(), "must be a link to") {
		t.Errorf("reachable = %q, %v with a link that leads elsewhere, want an error", got, err)
	}
	for _, outside := range []string{t.TempDir(), modules + "-not"} {
		if got, err := (toolchain{GOROOT: outside, GOMODCACHE: modules}).reachable(cache); got != outside || err != nil {
			t.Errorf("reachable(%s) = %q, %v, want it as it is", outside, got, err)
		}
	}
}
