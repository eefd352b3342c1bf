package otlp

import (
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"sync"
	"testing"

	colprofilepb "go.opentelemetry.io/proto/otlp/collector/profiles/v1development"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
)

// A profileReceiver is an OTLP server for profiles on loopback, over gRPC and HTTP.
type profileReceiver struct {
	colprofilepb.UnimplementedProfilesServiceServer

	endpoints

	mu       sync.Mutex
	requests []*colprofilepb.ExportProfilesServiceRequest
	headers  []http.Header
	// failures are answered first, one a request.
	failures []error        // over gRPC
	answers  []http.Handler // over HTTP
	partial  int64
}

func newProfileReceiver(t *testing.T) *profileReceiver {
	t.Helper()
	r := &profileReceiver{}
	r.endpoints = serve(t, func(g *grpc.Server) { colprofilepb.RegisterProfilesServiceServer(g, r) }, r)
	return r
}

func (r *profileReceiver) take(h http.Header, in *colprofilepb.ExportProfilesServiceRequest) *colprofilepb.ExportProfilesServiceResponse {
	r.requests, r.headers = append(r.requests, in), append(r.headers, h)
	out := &colprofilepb.ExportProfilesServiceResponse{}
	if r.partial > 0 {
		out.PartialSuccess = &colprofilepb.ExportProfilesPartialSuccess{RejectedProfiles: r.partial, ErrorMessage: "too deep"}
	}
	return out
}

func (r *profileReceiver) Export(ctx context.Context, in *colprofilepb.ExportProfilesServiceRequest) (*colprofilepb.ExportProfilesServiceResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.failures) > 0 {
		err := r.failures[0]
		r.failures = r.failures[1:]
		return nil, err
	}
	md, _ := metadata.FromIncomingContext(ctx)
	h := http.Header{}
	for key, values := range md {
		h[http.CanonicalHeaderKey(key)] = values
	}
	return r.take(h, in), nil
}

func (r *profileReceiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.answers) > 0 {
		answer := r.answers[0]
		r.answers = r.answers[1:]
		answer.ServeHTTP(w, req)
		return
	}
	if req.Method != http.MethodPost || req.URL.Path != "/v1development/profiles" {
		http.NotFound(w, req)
		return
	}
	body := io.Reader(req.Body)
	if req.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		body = z
	}
	data, err := io.ReadAll(body)
	in := &colprofilepb.ExportProfilesServiceRequest{}
	if err == nil {
		err = proto.Unmarshal(data, in)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	data, err = proto.Marshal(r.take(req.Header, in))
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", protobufType)
	_, _ = w.Write(data)
}

// status answers with one, and the header Retry-After if it is not empty.
func answerStatus(code int, retryAfter string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if retryAfter != "" {
			w.Header().Set("Retry-After", retryAfter)
		}
		http.Error(w, "told to", code)
	})
}
