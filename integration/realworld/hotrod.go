package main

import (
	"strings"

	"github.com/otelprof/otelprof/internal/replay"
)

// hotrod is Jaeger's example: dispatch asks the customer service, whose database has one
// connection, then the driver service, which asks Redis eleven times in a row, then the route
// service ten times by a pool of three workers. The times are some 20 times shorter than the
// example's own, so that windows of seconds have hundreds of requests.
//
// It is a copy since its customer and driver services make their TracerProviders themselves, in a
// function that ends the program with an SDK as new as ours, and take metrics whose type is
// internal to Jaeger.
func hotrod() program {
	p := program{
		name: "hotrod", about: "Jaeger's HotROD, all services in one process; eight clients in another",
		module: "github.com/jaegertracing/jaeger", version: "v1.76.0", pkg: "./examples/hotrod",
		ports: 4,
		args: func(ports []string) []string {
			args := []string{"--otel-exporter=stdout", "--fix-db-query-delay=15ms"} // the flag overrides the variable
			for i, service := range []string{"frontend", "customer", "driver", "route"} {
				args = append(args, "--"+service+"-service-hostname=127.0.0.1", "--"+service+"-service-port="+ports[i])
			}
			return args
		},
		services: []string{"all"},
		url: func(ports []string, n int) string {
			customers := []string{"123", "392", "567", "731"}
			return "http://127.0.0.1:" + ports[0] + "/dispatch?customer=" + customers[n%len(customers)]
		},
		progress: "GET /dispatch",
		regions: []region{
			{span: "SQL SELECT", delay: "mysql", scope: "mysql"},
			{span: "GET /route", delay: "route", scope: otelhttp},
			{span: "GetDriver", delay: "redis get", scope: "redis-manual"},
			{span: "FindDriverIDs", delay: "redis find", scope: "redis-manual"},
		},
	}
	const (
		dir      = "examples/hotrod/"
		tracing  = dir + "pkg/tracing/init.go"
		mux      = dir + "pkg/tracing/mux.go"
		config   = dir + "services/config/config.go"
		database = dir + "services/customer/database.go"
		redis    = dir + "services/driver/redis.go"
		route    = dir + "services/route/server.go"
	)
	// Deviations are derived from these.
	p.edits = []edit{
		{config, "MySQLGetDelay = 300 * time.Millisecond", "MySQLGetDelay = 15 * time.Millisecond"},
		{config, "RedisFindDelay = 20 * time.Millisecond", "RedisFindDelay = 2 * time.Millisecond"},
		{config, "RedisGetDelay = 10 * time.Millisecond", "RedisGetDelay = 300 * time.Microsecond"},
		{config, "RouteCalcDelay = 50 * time.Millisecond", "RouteCalcDelay = 2500 * time.Microsecond"},
		// Beside ours, the SDK is of a newer version, with another schema, and refuses to mix the
		// two.
		{tracing, "\t\tresource.WithSchemaURL(otelsemconv.SchemaURL),\n", ""},
		// So has otelhttp: since it names spans and metrics by the request's pattern, it has no
		// WithRouteTag.
		{mux, "otelhttp.WithRouteTag(pattern, traceResponseHandler(handler))", "traceResponseHandler(handler)"},
		{tracing, "\treturn tp\n", "\treturn control.Wrap(tp)\n"},
		scaled(database, "config.MySQLGetDelay, config.MySQLGetDelayStdDev", "mysql"),
		scaled(redis, "config.RedisFindDelay, config.RedisFindDelayStdDev", "redis find"),
		scaled(redis, "config.RedisGetDelay, config.RedisGetDelayStdDev", "redis get"),
		scaled(redis, "2*config.RedisGetDelay, 0", "redis get"),
		scaled(route, "config.RouteCalcDelay, config.RouteCalcDelayStdDev", "route"),
	}
	for _, file := range []string{tracing, database, redis, route} {
		p.edits = append(p.edits, imports(file, p.control()))
	}
	return p
}

// otelhttp is the scope of the spans of HTTP's servers and clients.
const otelhttp = "go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"

// hotrod4 is the same with each of the four services in a process of its own.
func hotrod4() program {
	p := hotrod()
	p.name, p.about = "hotrod4", "Jaeger's HotROD, each of four services in a process; eight clients in another"
	p.services = []string{"frontend", "customer", "driver", "route"}
	p.speedups = []float64{0.1, 0.25, 0.5}
	p.variants = []variant{
		{"no mutex around the database", []string{"--fix-disable-db-conn-mutex"}, replay.Question{Free: "*tracing.(*Mutex).Lock*"}},
		{"six workers for routes", []string{"--fix-route-worker-pool-size", "6"}, replay.Question{Workers: "*pool.(*Pool).Execute*", Number: 6}},
		{"two workers for routes", []string{"--fix-route-worker-pool-size", "2"}, replay.Question{Workers: "*pool.(*Pool).Execute*", Number: 2}},
	}
	return p
}

// scaled has a call of HotROD's delay.Sleep ask for its arguments.
func scaled(file, arguments, name string) edit {
	call := "delay.Sleep(" + arguments + ")"
	return edit{file, call, strings.Replace(call, arguments, `control.Scale("`+name+`", `+arguments+`)`, 1)}
}
