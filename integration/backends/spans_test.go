package backends

import (
	"path/filepath"
	"testing"
)

// TestSpans holds what Jaeger has against what the application has written to its files.
func TestSpans(t *testing.T) {
	s := newStack(t, nil)
	for protocol, address := range map[string]string{"grpc": s.grpc, "http/protobuf": s.http} {
		t.Run(protocol, func(t *testing.T) {
			dir := t.TempDir()
			service := "spans-" + filepath.Base(protocol)
			a := newApp(t, service, []string{"OTEL_EXPORTER_OTLP_PROTOCOL=" + protocol, "OTEL_EXPORTER_OTLP_ENDPOINT=http://" + address, "OTEL_BSP_MAX_QUEUE_SIZE=50000"}, dir)
			a.work(t, 1000)
			a.shutdown(t)
			want := spansIn(t, filepath.Join(dir, "traces.jsonl"))
			got := s.jaeger.all(t, service, len(want))
			equal := same(t, got, want)
			var exceptions, links int
			sessions := map[string]bool{}
			for _, one := range got {
				links += one.Links().Len()
				for _, e := range one.Events().All() {
					if e.Name() == "exception" {
						exceptions++
					}
				}
				if id, ok := one.Attributes().Get("session.id"); ok {
					sessions[id.Str()] = true
				}
			}
			if exceptions != 1000 || links != 999 || len(sessions) != 1000 {
				t.Errorf("%d exceptions, %d links, %d sessions, want 1000, 999, 1000", exceptions, links, len(sessions))
			}
			check(t, "spans_"+filepath.Base(protocol), "figure=%d of %d spans are in Jaeger, equal in everything, with %d exceptions, %d links, %d sessions", equal, len(want), exceptions, links, len(sessions))
		})
	}
}
