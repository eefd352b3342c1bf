// Package backends holds the tests that run the demo and small programs against a real Collector,
// Jaeger, Prometheus and Chromium, with the files in collector-config, and ask those what has
// arrived. make integration runs them; each check prints a line with its figure. It has no code of
// its own.
package backends
