package otlp

import (
	"context"
	"net/url"
	"time"

	colprofilepb "go.opentelemetry.io/proto/otlp/collector/profiles/v1development"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
)

// profileGRPC sends over gRPC.
type profileGRPC struct {
	conn    *grpc.ClientConn
	client  colprofilepb.ProfilesServiceClient
	headers metadata.MD
}

func newProfileGRPC(endpoint string, t transport) (*profileGRPC, error) {
	target := endpoint
	if u, err := url.Parse(endpoint); err == nil && (u.Scheme == "http" || u.Scheme == "https") {
		target = u.Host
	}
	security := credentials.NewTLS(t.tls)
	if t.plain {
		security = insecure.NewCredentials()
	}
	opts := []grpc.DialOption{grpc.WithTransportCredentials(security), grpc.WithUserAgent("otelprof")}
	if t.gzip {
		opts = append(opts, grpc.WithDefaultCallOptions(grpc.UseCompressor(gzip.Name)))
	}
	conn, err := grpc.NewClient(target, opts...)
	if err != nil {
		return nil, err
	}
	return &profileGRPC{conn: conn, client: colprofilepb.NewProfilesServiceClient(conn), headers: metadata.New(t.headers)}, nil
}

func (g *profileGRPC) send(ctx context.Context, in *colprofilepb.ExportProfilesServiceRequest) (*colprofilepb.ExportProfilesServiceResponse, error) {
	out, err := g.client.Export(metadata.NewOutgoingContext(ctx, g.headers), in)
	if err == nil {
		return out, nil
	}
	after, said := retryDelay(err)
	switch status.Code(err) {
	case codes.Canceled, codes.DeadlineExceeded, codes.Aborted, codes.OutOfRange, codes.Unavailable, codes.DataLoss:
		return nil, &retryable{err: err, after: after}
	case codes.ResourceExhausted:
		// Without a delay it is a limit that the same request meets again.
		if said {
			return nil, &retryable{err: err, after: after}
		}
	}
	return nil, err
}

// retryDelay is how long a RetryInfo among the details of a status asks to wait.
func retryDelay(err error) (delay time.Duration, ok bool) {
	for _, detail := range status.Convert(err).Details() {
		if info, is := detail.(interface{ GetRetryDelay() *durationpb.Duration }); is {
			return info.GetRetryDelay().AsDuration(), true
		}
	}
	return 0, false
}

func (g *profileGRPC) close() error { return g.conn.Close() }
