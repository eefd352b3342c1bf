// Command openfga runs OpenFGA's server at the port of the loopback that is its argument, with its
// gateway for HTTP. A check is whether a user may view a document: directly, as its owner, or by a
// group that may view the document's folder. OpenFGA tries these side by side. The last one holds:
// it asks the storage for the folder, for the folder's groups, and for the user in the group.
//
// Groups may have teams as members, of which there are none. Without them OpenFGA would have two
// ways to find a user in a group, and try now the one and now the other.
package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	openfgav1 "github.com/openfga/api/proto/openfga/v1"
	"github.com/openfga/language/pkg/go/transformer"
	"github.com/openfga/openfga/pkg/server"
	"github.com/openfga/openfga/pkg/storage/memory"
	"github.com/openfga/openfga/pkg/tuple"
	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/otelprof/otelprof/integration/realworld/control"
)

// store is the identifier of the store that is asked.
const store = "01J00000000000000000000000"

const model = `model
  schema 1.1

type user

type team
  relations
    define member: [user]

type group
  relations
    define member: [user, team#member]

type folder
  relations
    define viewer: [user, group#member]

type document
  relations
    define parent: [folder]
    define owner: [user]
    define viewer: [user] or owner or viewer from parent
`

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "openfga:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, ports []string) error {
	if len(ports) != 1 {
		return fmt.Errorf("arguments: must be 1 port, are %d", len(ports))
	}
	provider := control.Wrap(sdktrace.NewTracerProvider())
	otel.SetTracerProvider(provider) // OpenFGA's own spans
	storage := slow{memory.New(), provider.Tracer("storage")}
	s, err := server.NewServerWithOpts(server.WithDatastore(storage))
	if err != nil {
		return err
	}
	defer s.Close()
	if err := fill(ctx, storage, s); err != nil {
		return err
	}
	gateway := runtime.NewServeMux()
	if err := openfgav1.RegisterOpenFGAServiceHandlerServer(ctx, gateway, s); err != nil {
		return err
	}
	return http.ListenAndServe(net.JoinHostPort("127.0.0.1", ports[0]), gateway)
}

// fill makes the store, its model, and a document in a folder that a group may view.
func fill(ctx context.Context, storage slow, s *server.Server) error {
	if _, err := storage.CreateStore(ctx, &openfgav1.Store{Id: store, Name: "real"}); err != nil {
		return err
	}
	m, err := transformer.TransformDSLToProto(model)
	if err != nil {
		return err
	}
	_, err = s.WriteAuthorizationModel(ctx, &openfgav1.WriteAuthorizationModelRequest{
		StoreId: store, SchemaVersion: m.GetSchemaVersion(), TypeDefinitions: m.GetTypeDefinitions(),
	})
	if err != nil {
		return err
	}
	_, err = s.Write(ctx, &openfgav1.WriteRequest{StoreId: store, Writes: &openfgav1.WriteRequestWrites{TupleKeys: []*openfgav1.TupleKey{
		tuple.NewTupleKey("document:plan", "parent", "folder:all"),
		tuple.NewTupleKey("folder:all", "viewer", "group:staff#member"),
		tuple.NewTupleKey("group:staff", "member", "user:anne"),
	}}})
	return err
}
