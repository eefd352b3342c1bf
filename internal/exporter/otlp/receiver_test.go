package otlp

import (
	"compress/gzip"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"

	collogpb "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	colmetricpb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
)

// A receiver is an OTLP server on loopback, over gRPC and HTTP.
type receiver struct {
	coltracepb.UnimplementedTraceServiceServer

	endpoints

	mu      sync.Mutex
	traces  []*coltracepb.ExportTraceServiceRequest
	metrics []*colmetricpb.ExportMetricsServiceRequest
	logs    []*collogpb.ExportLogsServiceRequest
	headers map[string]string // "x-test" of the last request, by transport
	// partial is answered as the number of refused items.
	partial int64
	// status is answered over HTTP, if not 0.
	status int
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{headers: map[string]string{}}
	r.endpoints = serve(t, func(g *grpc.Server) {
		coltracepb.RegisterTraceServiceServer(g, r)
		colmetricpb.RegisterMetricsServiceServer(g, metricReceiver{receiver: r})
		collogpb.RegisterLogsServiceServer(g, logReceiver{receiver: r})
	}, http.HandlerFunc(r.serveHTTP))
	return r
}

// endpoints are the URLs of one receiver.
type endpoints struct{ grpcURL, httpURL string }

// serve answers over gRPC and over HTTP until the test ends.
func serve(t *testing.T, register func(*grpc.Server), h http.Handler) endpoints {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := grpc.NewServer()
	register(g)
	var serving sync.WaitGroup
	serving.Go(func() { _ = g.Serve(l) })
	server := httptest.NewServer(h)
	t.Cleanup(func() {
		g.Stop()
		serving.Wait()
		server.CloseClientConnections()
		server.Close()
	})
	return endpoints{"http://" + l.Addr().String(), server.URL}
}

func (e endpoints) endpoint(p Protocol) string {
	if p == ProtocolGRPC {
		return e.grpcURL
	}
	return e.httpURL
}

func (r *receiver) take(transport, header string, request proto.Message) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.headers[transport] = header
	switch request := request.(type) {
	case *coltracepb.ExportTraceServiceRequest:
		r.traces = append(r.traces, request)
	case *colmetricpb.ExportMetricsServiceRequest:
		r.metrics = append(r.metrics, request)
	case *collogpb.ExportLogsServiceRequest:
		r.logs = append(r.logs, request)
	}
}

// answer changes what the receiver says from now on.
func (r *receiver) answer(status int, partial int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status, r.partial = status, partial
}

func (r *receiver) traceResponse() *coltracepb.ExportTraceServiceResponse {
	out := &coltracepb.ExportTraceServiceResponse{}
	if r.partial > 0 {
		out.PartialSuccess = &coltracepb.ExportTracePartialSuccess{RejectedSpans: r.partial, ErrorMessage: "too old"}
	}
	return out
}

func (r *receiver) metricsResponse() *colmetricpb.ExportMetricsServiceResponse {
	out := &colmetricpb.ExportMetricsServiceResponse{}
	if r.partial > 0 {
		out.PartialSuccess = &colmetricpb.ExportMetricsPartialSuccess{RejectedDataPoints: r.partial, ErrorMessage: "too old"}
	}
	return out
}

func (r *receiver) logsResponse() *collogpb.ExportLogsServiceResponse {
	out := &collogpb.ExportLogsServiceResponse{}
	if r.partial > 0 {
		out.PartialSuccess = &collogpb.ExportLogsPartialSuccess{RejectedLogRecords: r.partial, ErrorMessage: "too old"}
	}
	return out
}

func (r *receiver) Export(ctx context.Context, req *coltracepb.ExportTraceServiceRequest) (*coltracepb.ExportTraceServiceResponse, error) {
	r.take("grpc", fromMetadata(ctx), req)
	return r.traceResponse(), nil
}

// metricReceiver and logReceiver are receiver for the other services, whose methods have the same
// name.
type metricReceiver struct {
	colmetricpb.UnimplementedMetricsServiceServer
	receiver *receiver
}

func (r metricReceiver) Export(ctx context.Context, req *colmetricpb.ExportMetricsServiceRequest) (*colmetricpb.ExportMetricsServiceResponse, error) {
	r.receiver.take("grpc", fromMetadata(ctx), req)
	return r.receiver.metricsResponse(), nil
}

type logReceiver struct {
	collogpb.UnimplementedLogsServiceServer
	receiver *receiver
}

func (r logReceiver) Export(ctx context.Context, req *collogpb.ExportLogsServiceRequest) (*collogpb.ExportLogsServiceResponse, error) {
	r.receiver.take("grpc", fromMetadata(ctx), req)
	return r.receiver.logsResponse(), nil
}

func fromMetadata(ctx context.Context) string {
	md, _ := metadata.FromIncomingContext(ctx)
	if v := md.Get("x-test"); len(v) > 0 {
		return v[0]
	}
	return ""
}

func (r *receiver) serveHTTP(w http.ResponseWriter, req *http.Request) {
	body := io.Reader(req.Body)
	if req.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(req.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		body = z
	}
	data, err := io.ReadAll(body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if len(data) > 4<<20 { // as gRPC's servers have it by default
		http.Error(w, "too large", http.StatusRequestEntityTooLarge)
		return
	}
	r.mu.Lock()
	status := r.status
	r.mu.Unlock()
	if status != 0 {
		http.Error(w, "told to", status)
		return
	}
	var in, out proto.Message
	switch req.URL.Path {
	case "/v1/traces":
		in, out = &coltracepb.ExportTraceServiceRequest{}, r.traceResponse()
	case "/v1/metrics":
		in, out = &colmetricpb.ExportMetricsServiceRequest{}, r.metricsResponse()
	case "/v1/logs":
		in, out = &collogpb.ExportLogsServiceRequest{}, r.logsResponse()
	default:
		http.NotFound(w, req)
		return
	}
	if err := proto.Unmarshal(data, in); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.take("http", req.Header.Get("X-Test"), in)
	w.Header().Set("Content-Type", "application/x-protobuf")
	data, err = proto.Marshal(out)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_, _ = w.Write(data)
}

// spanNames of all requests so far.
func (r *receiver) spanNames() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var names []string
	for _, req := range r.traces {
		for _, rs := range req.GetResourceSpans() {
			for _, ss := range rs.GetScopeSpans() {
				for _, s := range ss.GetSpans() {
					names = append(names, s.GetName())
				}
			}
		}
	}
	return names
}

func (r *receiver) metricNames() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var names []string
	for _, req := range r.metrics {
		for _, rm := range req.GetResourceMetrics() {
			for _, sm := range rm.GetScopeMetrics() {
				for _, m := range sm.GetMetrics() {
					names = append(names, m.GetName())
				}
			}
		}
	}
	return names
}

func (r *receiver) logBodies() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var bodies []string
	for _, req := range r.logs {
		for _, rl := range req.GetResourceLogs() {
			for _, sl := range rl.GetScopeLogs() {
				for _, l := range sl.GetLogRecords() {
					bodies = append(bodies, l.GetBody().GetStringValue())
				}
			}
		}
	}
	return bodies
}
