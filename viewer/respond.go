package viewer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// writeJSON answers with v. It is encoded before anything is sent, so that an answer is
// whole or an error.
func writeJSON(w http.ResponseWriter, status int, v any) {
	var b bytes.Buffer
	if err := json.NewEncoder(&b).Encode(v); err != nil {
		writeError(w, http.StatusInternalServerError, "answer: must have a form in JSON: %s", err)
		return
	}
	writeBody(w, status, "application/json; charset=utf-8", b.Bytes())
}

// writeError answers {"error": "thing value: constraint"}.
func writeError(w http.ResponseWriter, status int, format string, args ...any) {
	writeJSON(w, status, struct {
		Error string `json:"error"`
	}{fmt.Sprintf(format, args...)})
}

func writeBody(w http.ResponseWriter, status int, contentType string, body []byte) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client has gone, so the error has no recipient
}

// cached has one answer for concurrent requests, computed anew when it is old. The zero value is
// ready for use.
type cached[T any] struct {
	mu    sync.Mutex // held while computing: the second request waits for the first
	until time.Time
	last  T
}

// get returns what must not be changed. What was computed stands for age, and for rest times as
// long as computing it took, so that it fills no processor while pages are open; an error does not.
func (c *cached[T]) get(age time.Duration, rest int, compute func() (T, error)) (T, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	began := time.Now()
	if !began.After(c.until) {
		return c.last, nil
	}
	v, err := compute()
	if err == nil {
		done := time.Now()
		c.last, c.until = v, done.Add(max(age, time.Duration(rest)*done.Sub(began)))
	}
	return v, err
}

// expire makes the next answer a new one.
func (c *cached[T]) expire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.until = time.Time{}
}
