// Command etcd runs three members of etcd in one process. Its arguments are nine ports of the
// loopback: of each member the one for clients, the one for the other members, and the one of the
// link in front of the latter. The first member leads, and clients put keys there.
//
// Etcd's public hooks let us admit requests in an interceptor, of 6 ms, and see its own span of a
// put. What lies within that, the queue of proposals, the log's fsync, applying and the backend's
// commits, has neither spans nor hooks: they can neither be asked about nor be made faster. Between
// the members lies a network, which is ours: each link takes 4 ms to carry what has come.
package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/types"
	"go.etcd.io/etcd/pkg/v3/traceutil"
	"go.etcd.io/etcd/server/v3/embed"
	"go.opentelemetry.io/otel/sdk/trace"
	oteltrace "go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"

	"github.com/otelprof/otelprof/integration/realworld/control"
)

const (
	members = 3
	// data is the folder of all members' data, which is made anew.
	data = "data"
	// elected is how soon there must be a leader.
	elected = 20 * time.Second
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "etcd:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, ports []string) error {
	if len(ports) != 3*members {
		return fmt.Errorf("arguments: must be %d ports, are %d", 3*members, len(ports))
	}
	provider := control.Wrap(trace.NewTracerProvider())
	traceutil.Init(provider) // etcd's own spans
	tracer := provider.Tracer("real")
	if err := os.RemoveAll(data); err != nil {
		return err
	}
	var started []*embed.Etcd
	for i := range members {
		if err := link(ctx, tracer, address(ports, i, links), address(ports, i, peers)); err != nil {
			return err
		}
		e, err := embed.StartEtcd(config(ports, i, tracer))
		if err != nil {
			return err
		}
		defer e.Close()
		started = append(started, e)
	}
	for _, e := range started {
		select {
		case <-e.Server.ReadyNotify():
		case <-time.After(elected):
			return fmt.Errorf("member %s: must be ready in %v", e.Config().Name, elected)
		}
	}
	if err := lead(ctx, started); err != nil {
		return err
	}
	return <-started[0].Err()
}

// The ports of a member, in the order of the arguments.
const (
	clients = iota
	peers
	links
)

func address(ports []string, member, which int) string {
	return "127.0.0.1:" + ports[3*member+which]
}

// config has a member listen on the loopback, and be reached by the others by its link.
func config(ports []string, member int, tracer oteltrace.Tracer) *embed.Config {
	at := func(member, which int) []url.URL {
		return []url.URL{{Scheme: "http", Host: address(ports, member, which)}}
	}
	name := func(member int) string { return fmt.Sprint("m", member) }
	c := embed.NewConfig()
	c.Name, c.Dir, c.LogLevel = name(member), filepath.Join(data, name(member)), "error"
	c.ListenClientUrls, c.AdvertiseClientUrls = at(member, clients), at(member, clients)
	c.ListenPeerUrls, c.AdvertisePeerUrls = at(member, peers), at(member, links)
	all := types.URLsMap{}
	for m := range members {
		all[name(m)] = at(m, links)
	}
	c.InitialCluster = all.String()
	c.GRPCAdditionalServerOptions = []grpc.ServerOption{grpc.ChainUnaryInterceptor(admit(tracer))}
	return c
}

// lead makes the first member the leader.
func lead(ctx context.Context, all []*embed.Etcd) error {
	ctx, cancel := context.WithTimeout(ctx, elected)
	defer cancel()
	first, leader := uint64(all[0].Server.MemberID()), all[0].Server.Lead()
	if leader == first {
		return nil
	}
	for _, e := range all[1:] {
		if uint64(e.Server.MemberID()) == leader {
			return e.Server.MoveLeader(ctx, leader, first)
		}
	}
	return fmt.Errorf("leader %x: must be a member", leader)
}
