package main

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"

	"github.com/otelprof/otelprof/integration/realworld/control"
)

// put is the method that clients call, and the span of a call.
const put = "/etcdserverpb.KV/Put"

// admit returns an interceptor that starts a span for each put, and lets it wait before etcd gets
// it, as one that asks another service about the caller would.
func admit(tracer trace.Tracer) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, request any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		if info.FullMethod != put {
			return handler(ctx, request)
		}
		ctx, span := tracer.Start(ctx, put)
		defer span.End()
		_, admitted := tracer.Start(ctx, "admit")
		control.Sleep("admit", 6*time.Millisecond, 600*time.Microsecond)
		admitted.End()
		return handler(ctx, request)
	}
}
