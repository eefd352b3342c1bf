package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
)

// maxMessage is the largest message that is read.
const maxMessage = 1 << 20

// Serve answers messages, one on each line, in their order, until in ends, or ctx has when one
// comes.
func (s *Server) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 64<<10), maxMessage+1) // and the end of its line
	for ctx.Err() == nil && lines.Scan() {
		if len(lines.Bytes()) == 0 {
			continue
		}
		if name := greeting(lines.Bytes()); name != "" {
			ctx = context.WithValue(ctx, clientKey{}, name)
		}
		text := s.Handle(ctx, lines.Bytes())
		if text == nil {
			continue
		}
		if _, err := out.Write(append(text, '\n')); err != nil {
			return fmt.Errorf("mcp: answer: %w", err)
		}
	}
	switch err := lines.Err(); {
	case err == nil || ctx.Err() != nil:
		return nil
	case errors.Is(err, bufio.ErrTooLong):
		return fmt.Errorf("mcp: message: must have at most %d bytes: %w", maxMessage, err)
	default:
		return fmt.Errorf("mcp: input: must be readable to its end: %w", err)
	}
}

// greeting is the client's name in the handshake of the older generation, "" for other messages.
func greeting(text []byte) string {
	var m message
	var p params
	if json.Unmarshal(text, &m) != nil || m.Method != "initialize" || json.Unmarshal(m.Params, &p) != nil {
		return ""
	}
	return p.ClientInfo.Name
}

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
