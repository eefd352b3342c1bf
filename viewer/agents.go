package viewer

import (
	"bytes"
	"context"
	"net/http"

	"github.com/otelprof/otelprof/internal/explain/tools"
	"github.com/otelprof/otelprof/internal/http/inprocess"
	"github.com/otelprof/otelprof/internal/http/mcp"
	"github.com/otelprof/otelprof/internal/naming"
)

// agents answers agents at /mcp, by the Model Context Protocol. Its tools ask the JSON API of this
// handler. That which starts experiments is among them where the token is enough for that, and asks
// with the token that the agent's own request has.
func (h *Handler) agents() *mcp.Server {
	return &mcp.Server{
		Name: "otelprof", Version: naming.Version(), Instructions: tools.Instructions,
		Tools: tools.New(h.ask, h.config.token != "" && !h.config.signed),
	}
}

type authorizationKey struct{}

// serveAgents has a server answer with the token of the request at hand.
func serveAgents(s *mcp.Server) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx := context.WithValue(r.Context(), authorizationKey{}, r.Header.Get("Authorization"))
		s.ServeHTTP(w, r.WithContext(ctx))
	}
}

// ask answers a request of a tool, or for a part of the page in one file.
func (h *Handler) ask(ctx context.Context, method, path string, body []byte) (status int, answer []byte, err error) {
	r, err := http.NewRequestWithContext(ctx, method, "/api/v1/"+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	if token, _ := ctx.Value(authorizationKey{}).(string); token != "" {
		r.Header.Set("Authorization", token)
	}
	status, answer = inprocess.Ask(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer h.recoverSource(w)
		h.mux.ServeHTTP(w, r)
	}), r)
	return status, answer, nil
}
