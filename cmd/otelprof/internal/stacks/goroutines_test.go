package stacks

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"net/http/pprof"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/otelprof/otelprof/spans"
	"github.com/otelprof/otelprof/viewer"
)

// hung waits for what comes at the end of the test.
func hung(quit chan struct{}) { <-quit }

// TestStacksShowGoroutines asks a viewer, net/http/pprof and a file where the goroutines of this
// program are.
func TestStacksShowGoroutines(t *testing.T) {
	quit, ended := make(chan struct{}), make(chan struct{})
	go func() { hung(quit); close(ended) }()
	t.Cleanup(func() { close(quit); <-ended })

	page, err := viewer.NewHandler(viewer.Sources{Regions: func() []spans.RegionStats { return nil }, Store: spans.NewRing(1 << 20)})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/admin/", http.StripPrefix("/admin", page))
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	log := filepath.Join(t.TempDir(), "crash.log")
	if err := os.WriteFile(log, []byte("fatal error: all goroutines are asleep\n\ngoroutine 1 [sync.WaitGroup.Wait, 3 minutes]:\nmain.hung()\n\t/a/main.go:3 +0x1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		s.URL + "/admin":                 ".hung  goroutines_test.go:",
		s.URL + "/debug/pprof/goroutine": ".hung  goroutines_test.go:",
		log:                              "       1  [sync.WaitGroup.Wait], one for 3 minutes\n       1    main.hung  main.go:3\n",
	} {
		var out, errs bytes.Buffer
		if status := run([]string{"stacks", "show", "-goroutines", name}, strings.NewReader(""), &out, &errs); status != 0 || !strings.Contains(out.String(), want) {
			t.Errorf("%s: status %d, %s%s; want %q", name, status, &errs, &out, want)
		}
		out.Reset()
		if status := run([]string{"stacks", "show", "-goroutines", "-least", "1000", name}, strings.NewReader(""), &out, &errs); status != 0 || strings.Contains(out.String(), "hung") {
			t.Errorf("%s: of a thousand or more: status %d, %s", name, status, &out)
		}
	}
	for _, name := range []string{s.URL + "/nowhere", "/nowhere", s.URL + "/debug/pprof/nothing/goroutine"} {
		var out, errs bytes.Buffer
		if status := run([]string{"stacks", "show", "-goroutines", name}, strings.NewReader(""), &out, &errs); status != 1 || errs.Len() == 0 {
			t.Errorf("%s: status %d, %q; want 1 and a reason", name, status, &errs)
		}
	}
}
