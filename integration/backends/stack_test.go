package backends

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/otelprof/otelprof/integration/backends/programs"
)

const configs = root + "/collector-config/"

// A collector is an agent, a gateway or both in one, that can be restarted with its queue.
type collector struct {
	*process
	name    string
	configs []string // arguments
	env     []string

	grpc, http, health, metrics string // addresses
	queue                       string // folder
}

// profilesConfig asks for a signal that the Collector keeps behind a gate.
const profilesConfig = "collector-profiles.yaml"

// configArgs are the arguments for files of collector-config, or elsewhere, one laid over the
// other.
func configArgs(files []string) (args []string) {
	if slices.Contains(files, profilesConfig) {
		args = append(args, "--feature-gates=service.profilesSupport")
	}
	for _, f := range files {
		if !filepath.IsAbs(f) {
			f = configs + f
		}
		args = append(args, "--config", f)
	}
	return args
}

// newCollector starts the Collector with files, see [configArgs].
func newCollector(t testing.TB, name string, env []string, files ...string) *collector {
	t.Helper()
	c := &collector{
		name: name, configs: configArgs(files), queue: t.TempDir(),
		grpc: freeAddress(t), http: freeAddress(t), health: freeAddress(t), metrics: freeAddress(t),
	}
	c.env = append([]string{
		"OTLP_GRPC_ENDPOINT=" + c.grpc, "OTLP_HTTP_ENDPOINT=" + c.http, "HEALTH_ENDPOINT=" + c.health,
		"METRICS_PORT=" + portOf(t, c.metrics), "QUEUE_DIR=" + c.queue,
	}, env...)
	c.restart(t)
	return c
}

// restart starts the Collector again, at the same addresses and with the same queue.
func (c *collector) restart(t testing.TB) {
	t.Helper()
	c.process = start(t, c.name, backend(t, "collector"), c.env, c.configs...)
	c.ready(t, "http://"+c.health)
}

// jaeger is Jaeger with its spans in memory.
type jaeger struct {
	*process
	otlp, query string // addresses
}

func newJaeger(t testing.TB) *jaeger {
	t.Helper()
	j := &jaeger{otlp: freeAddress(t), query: freeAddress(t)}
	health := freeAddress(t)
	j.process = start(t, "jaeger", backend(t, "jaeger"), []string{
		"OTLP_GRPC_ENDPOINT=" + j.otlp, "QUERY_ENDPOINT=" + j.query, "QUERY_GRPC_ENDPOINT=" + freeAddress(t), "HEALTH_ENDPOINT=" + health,
	}, "--config", configs+"jaeger.yaml")
	j.ready(t, "http://"+health+"/status")
	j.ready(t, "http://"+j.query+"/api/v3/services")
	return j
}

// prometheus is Prometheus with its data in the test's folder.
type prometheus struct {
	*process
	address string
}

func newPrometheus(t testing.TB) *prometheus {
	t.Helper()
	p := &prometheus{address: freeAddress(t)}
	p.process = start(t, "prometheus", backend(t, "prometheus"), nil, append(programs.PrometheusFlags,
		"--config.file="+configs+"prometheus.yml", "--storage.tsdb.path="+t.TempDir(), "--web.listen-address="+p.address, "--log.level=error")...)
	p.ready(t, "http://"+p.address+"/-/ready")
	return p
}

// stack is what one machine runs: Jaeger and Prometheus behind one Collector.
type stack struct {
	*collector
	jaeger     *jaeger
	prometheus *prometheus
}

// newStack starts a stack; files are laid over collector.yaml.
func newStack(t testing.TB, env []string, files ...string) *stack {
	t.Helper()
	s := &stack{jaeger: newJaeger(t), prometheus: newPrometheus(t)}
	env = append([]string{"JAEGER_ENDPOINT=" + s.jaeger.otlp, "PROMETHEUS_ENDPOINT=" + s.prometheus.address}, env...)
	s.collector = newCollector(t, "collector", env, append([]string{"collector.yaml"}, files...)...)
	return s
}

// exporting is the environment of an application that exports by OTLP.
func (c *collector) exporting(more ...string) []string {
	return append([]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://" + c.http,
		"OTEL_METRIC_EXPORT_INTERVAL=1000",
	}, more...)
}
