package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"time"
)

// goodPlan is a plan that is in order. No span is named so, so that nothing is delayed.
func goodPlan() string {
	return "api: causal/v1\nid: flaps\nexpires_at: " + time.Now().Add(30*time.Minute).UTC().Format(time.RFC3339) +
		"\nregions: [{span: none of these}]\nprogress: [{span: GET /work, type: throughput}]\n"
}

// experiment is a plan whose experiments delay spans from its first moment on, also where that
// comes to no number.
func experiment() string {
	return "api: causal/v1\nid: runs\nforce: true\nexpires_at: " + time.Now().Add(30*time.Minute).UTC().Format(time.RFC3339) +
		"\nregions: [{span: query}]\nprogress: [{span: GET /work, type: throughput}]\ntiming: {warmup: 0s}\n"
}

// experimenting answers with it.
func experimenting(w http.ResponseWriter, _ *http.Request, _ int64) { writePlan(w, experiment()) }

// planServer answers each request for a plan by what; count is the number of the request, from 0.
func planServer(what func(w http.ResponseWriter, r *http.Request, count int64)) *httptest.Server {
	var count atomic.Int64
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { what(w, r, count.Add(1)-1) }))
}

// flapping answers with a plan, without one, with a broken one and with an error in turn.
func flapping(w http.ResponseWriter, _ *http.Request, count int64) {
	switch count % 4 {
	case 0:
		writePlan(w, goodPlan())
	case 1:
		w.WriteHeader(http.StatusNoContent)
	case 2:
		writePlan(w, "api: causal/v99\nid: [7]\n")
	case 3:
		http.Error(w, "down", http.StatusBadGateway)
	}
}

// enormous answers with 200 MiB.
func enormous(w http.ResponseWriter, r *http.Request, _ int64) {
	w.Header().Set("Content-Type", "application/yaml")
	line := []byte(strings.Repeat("# filler\n", 1<<10))
	for sent := 0; sent < 200<<20 && r.Context().Err() == nil; sent += len(line) {
		if _, err := w.Write(line); err != nil {
			return
		}
	}
}

// dripping answers with a byte each 100 ms.
func dripping(w http.ResponseWriter, r *http.Request, _ int64) {
	w.Header().Set("Content-Type", "application/yaml")
	for r.Context().Err() == nil {
		if _, err := w.Write([]byte("#")); err != nil {
			return
		}
		_ = http.NewResponseController(w).Flush()
		time.Sleep(100 * time.Millisecond)
	}
}

// redirecting sends to itself.
func redirecting(w http.ResponseWriter, r *http.Request, _ int64) {
	http.Redirect(w, r, r.URL.Path+"x", http.StatusFound)
}

// mistyped answers with a picture, or what claims to be one.
func mistyped(w http.ResponseWriter, _ *http.Request, _ int64) {
	w.Header().Set("Content-Type", "image/png")
	_, _ = w.Write([]byte("\x89PNG\r\n\x1a\n"))
}

// unsigned answers with a plan without signature.
func unsigned(w http.ResponseWriter, _ *http.Request, _ int64) { writePlan(w, goodPlan()) }

func writePlan(w http.ResponseWriter, plan string) {
	w.Header().Set("Content-Type", "application/yaml")
	_, _ = w.Write([]byte(plan))
}
