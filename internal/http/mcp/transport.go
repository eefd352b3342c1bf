package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
)

// maxMessage is the largest message that is read.
const maxMessage = 1 << 20

// ServeHTTP answers a POST of one message with JSON. Who may send one is decided before.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxMessage))
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		http.Error(w, fmt.Sprintf("message: must have at most %d bytes", tooLarge.Limit), http.StatusRequestEntityTooLarge)
		return
	}
	if err != nil {
		http.Error(w, "message: must be sent whole", http.StatusBadRequest)
		return
	}
	if fault := mismatch(r.Header, text); fault != nil {
		writeJSON(w, http.StatusBadRequest, fault)
		return
	}
	reply := s.Handle(r.Context(), text)
	if reply == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	writeJSON(w, http.StatusOK, reply)
}

func writeJSON(w http.ResponseWriter, code int, text []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(text) // a reader that has gone is none of our business
}

// mismatch is the error of a request whose headers say another method, name or version than its
// body: what is between client and server decides by the headers.
func mismatch(h http.Header, text []byte) []byte {
	var m message
	var p params
	if json.Unmarshal(text, &m) != nil || len(m.Params) > 0 && json.Unmarshal(m.Params, &p) != nil {
		return nil // Handle reports it
	}
	version := p.Meta.Version
	for _, header := range []struct{ name, body string }{
		{"Mcp-Method", m.Method}, {"Mcp-Name", p.Name}, {"Mcp-Protocol-Version", version},
	} {
		said := h.Get(header.name)
		if said == "" || said == header.body || header.name == "Mcp-Protocol-Version" && version == "" {
			continue
		}
		return encode(m.ID, nil, &failure{Code: codeHeaderMismatch, Message: fmt.Sprintf("%s %.100q: must be %.100q, as in the message", header.name, said, header.body)})
	}
	if said := h.Get("Mcp-Protocol-Version"); said != "" && !slices.Contains(versions, said) {
		return encode(m.ID, nil, unsupported(said))
	}
	return nil
}
