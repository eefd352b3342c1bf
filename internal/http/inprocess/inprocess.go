// Package inprocess asks an http.Handler of this process, with no network in between.
package inprocess

import (
	"bytes"
	"net/http"
)

// Ask returns the answer of a handler, which is in memory as a whole.
func Ask(h http.Handler, r *http.Request) (status int, body []byte) {
	w := &answer{header: http.Header{}, status: http.StatusOK}
	h.ServeHTTP(w, r)
	return w.status, w.body.Bytes()
}

type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (a *answer) Header() http.Header         { return a.header }
func (a *answer) WriteHeader(status int)      { a.status = status }
func (a *answer) Write(p []byte) (int, error) { return a.body.Write(p) }
