package fetch

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestDo(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/here" {
			http.Error(w, strings.Repeat("x", 300), http.StatusTeapot)
		}
	}))
	defer server.Close()
	if _, err := Do(t.Context(), server.Client(), http.MethodGet, server.URL+"/here", http.NoBody); err != nil {
		t.Error(err)
	}
	elsewhere := server.URL + "/elsewhere"
	_, err := Do(t.Context(), server.Client(), http.MethodGet, elsewhere, http.NoBody)
	if want := "GET " + elsewhere + ": status 418 I'm a teapot: " + strings.Repeat("x", 200); !errors.Is(err, ErrStatus) || err.Error() != want {
		t.Errorf("Do = %v, want %s", err, want)
	}
}
