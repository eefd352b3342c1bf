package main

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/otelprof/otelprof/causal"
)

// startSmall starts the small program, from a link so that its log is in a folder of the test.
func startSmall(t *testing.T) *process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(t.TempDir(), "small")
	if err := os.Symlink(self, binary); err != nil {
		t.Fatal(err)
	}
	s, err := start(context.WithoutCancel(t.Context()), small, binary, "on") // the clean-up ends it, after the test's context
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// TestRealize measures a program of two milliseconds under a lock. What comes out is not judged:
// that would take longer, and a machine that does nothing else.
func TestRealize(t *testing.T) {
	s := startSmall(t)
	o := settings{speedups: []float64{0.5}, pairs: 1, window: 100 * time.Millisecond, settle: 20 * time.Millisecond}
	found, tally, err := s.realize(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range []question{{small.regions[0], 0}, {small.regions[0], 0.5}} {
		if values := found[q]; len(values) != 1 || math.IsNaN(values[0]) {
			t.Errorf("%+v: %v, want one number", q, values)
		}
	}
	t.Log(found, tally)
	all, err := s.crowd.answered()
	if err != nil {
		t.Fatal(err)
	}
	if all.Failed < all.Count/9-1 || all.Failed > all.Count/9+1 || !strings.Contains(all.Status, "500") || all.Lost != "" {
		t.Errorf("answered %+v, want every tenth to have failed", all)
	}
}

func TestAsk(t *testing.T) {
	s := startSmall(t)
	texts, err := s.traces(t.Context(), 20*time.Millisecond)
	if err != nil || len(texts) != 1 || !strings.HasPrefix(string(texts[0]), "go 1.") {
		t.Errorf("traces = %.20q, %v", texts, err)
	}
	if p, text, err := s.profile(t.Context()); err != nil || len(text) == 0 || len(p.Curves) != 0 {
		t.Errorf("profile = %+v, %.20q, %v", p, text, err)
	}
	if err := s.record(t.Context(), causal.MinWindow); err != nil {
		t.Errorf("record = %v", err)
	}
	for what, err := range map[string]error{
		"trace for no time":        second(s.traces(t.Context(), 0)),
		"window of an hour":        s.record(t.Context(), time.Hour),
		"delay that there is not":  s.speed(t.Context(), region{delay: "none"}, 0.5),
		"speed-up of all the time": s.speed(t.Context(), small.regions[0], 1),
	} {
		if err == nil || !strings.Contains(err.Error(), "must be") {
			t.Errorf("%s: %v, want an error that says what must be", what, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestStartSaysWhyNot(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "none")
	if _, err := start(t.Context(), small, binary, "on"); err == nil || !strings.Contains(err.Error(), "none") {
		t.Errorf("start = %v, want an error that names the binary", err)
	}
}
