package viewer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
)

// writeJSON answers with v. It is encoded before anything is sent, so that an answer is
// whole or an error.
func writeJSON(w http.ResponseWriter, status int, v any) {
	var b bytes.Buffer
	if err := json.NewEncoder(&b).Encode(v); err != nil {
		b.Reset()
		status = http.StatusInternalServerError
		fmt.Fprintf(&b, "{\"error\":%q}\n", "viewer: answer: cannot be encoded as JSON")
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
