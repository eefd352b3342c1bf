package main

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

// Requests to a service that hangs fail, also requests that are on their way when the load ends.
func TestLoadOfServiceThatHangs(t *testing.T) {
	asked, over := make(chan struct{}), make(chan struct{})
	var once sync.Once
	hangs := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		once.Do(func() { close(asked) })
		<-over
	}))
	defer hangs.Close()
	defer close(over)
	l := startLoad(t.Context(), map[string]*twin{ours: {addresses: addresses{Work: hangs.URL}}}, 0, 50*time.Millisecond)
	<-asked
	l.end()
	if c := l.take()[ours]; c.failed == 0 || c.failed != c.requests || c.err == nil {
		t.Errorf("%+v, want that all have failed", c)
	}
}
