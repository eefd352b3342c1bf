package main

import (
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/otelprof/otelprof/internal/testutil"
)

func TestForeign(t *testing.T) {
	at := time.Now()
	before := noise{began: at, busy: 5 * time.Second, ours: time.Second}
	for _, tc := range []struct {
		name string
		now  noise
		part float64
		loud bool
	}{
		{"ours alone", noise{began: at.Add(time.Second), busy: 6 * time.Second, ours: 2 * time.Second}, 0, false},
		{"a little", noise{began: at.Add(time.Second), busy: 6050 * time.Millisecond, ours: 2 * time.Second}, 0.05, false},
		{"much", noise{began: at.Add(time.Second), busy: 6500 * time.Millisecond, ours: 2 * time.Second}, 0.5, true},
		{"counted late", noise{began: at.Add(time.Second), busy: 5 * time.Second, ours: 2 * time.Second}, 0, false},
		{"not known", noise{began: at.Add(time.Second), busy: 9 * time.Second, unknown: true}, 0, false},
	} {
		if part, loud := before.foreign(tc.now); part != tc.part || loud != tc.loud {
			t.Errorf("%s: foreign = %v, %t; want %v, %t", tc.name, part, loud, tc.part, tc.loud)
		}
	}
}

// TestProcessTime has this process compute until the kernel has counted it.
func TestProcessTime(t *testing.T) {
	if runtime.GOOS != "linux" {
		testutil.Lacks(t, "PROC", "the times of processes are known on Linux")
	}
	before, err := processTime(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	machine, err := machineTime()
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); ; {
		now, err := processTime(os.Getpid())
		if err != nil {
			t.Fatal(err)
		}
		if now > before {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the process has had %v for 10 s, want more", now)
		}
	}
	if now, err := machineTime(); err != nil || now < machine {
		t.Errorf("machineTime = %v, %v; want at least %v", now, err, machine)
	}
}
