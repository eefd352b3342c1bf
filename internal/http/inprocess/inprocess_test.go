package inprocess

import (
	"net/http"
	"testing"
)

func TestAsk(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("A", "b")
		if r.Method == http.MethodPut {
			w.WriteHeader(http.StatusTeapot)
		}
		_, _ = w.Write([]byte("what "))
		_, _ = w.Write([]byte(r.URL.Path))
	})
	for method, want := range map[string]int{http.MethodGet: http.StatusOK, http.MethodPut: http.StatusTeapot} {
		r, err := http.NewRequestWithContext(t.Context(), method, "/for", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if status, body := Ask(h, r); status != want || string(body) != "what /for" {
			t.Errorf("%s: %d %q, want %d", method, status, body, want)
		}
	}
}
