package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFoldersFit holds the list of programs against the folders of the imported ones.
func TestFoldersFit(t *testing.T) {
	var want []string
	for _, p := range programs() {
		if p.copied() {
			continue
		}
		dir := filepath.Join("programs", p.name)
		want = append(want, dir)
		text := sources(t, dir)
		for _, r := range p.regions {
			if !strings.Contains(text, strconv.Quote(r.delay)) {
				t.Errorf("%s: no source has the delay %q of region %s", dir, r.delay, r.span)
			}
		}
		for _, call := range []string{"control.Wrap(", "control.Sleep("} {
			if !strings.Contains(text, call) {
				t.Errorf("%s: no source has %s", dir, call)
			}
		}
	}
	got, err := filepath.Glob(filepath.Join("programs", "*"))
	if err != nil {
		t.Fatal(err)
	}
	sorted := cmp.Transformer("set", func(names []string) map[string]bool {
		set := map[string]bool{}
		for _, name := range names {
			set[name] = true
		}
		return set
	})
	if diff := cmp.Diff(want, got, sorted); diff != "" {
		t.Errorf("folders differ from programs, -programs +folders:\n%s", diff)
	}
}

// sources returns the text of all Go files in a folder.
func sources(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}

// TestVisit sends what clients of each program send.
func TestVisit(t *testing.T) {
	var got string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if len(text) > 0 && !json.Valid(text) {
			t.Errorf("%s: body %s, want JSON", r.URL, text)
		}
		got = r.Method + " " + r.URL.Path
		w.WriteHeader(http.StatusOK)
	}))
	defer server.Close()
	_, port, _ := strings.Cut(strings.TrimPrefix(server.URL, "http://"), ":")
	for name, want := range map[string]string{
		"hotrod": "GET /dispatch", "registry": "GET /v2/real/world/manifests/latest", "openfga": "POST /stores/01J00000000000000000000000/check",
		"etcd": "POST /v3/kv/put", "benthos": "POST /post",
	} {
		for _, p := range programs() {
			if p.name != name {
				continue
			}
			if err := p.visit(t.Context(), server.Client(), []string{port}, 1); err != nil || got != want {
				t.Errorf("%s: %q, %v; want %q", name, got, err, want)
			}
		}
	}
}
