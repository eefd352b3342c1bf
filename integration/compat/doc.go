// Package compat holds the tests that popular OpenTelemetry instrumentation behaves on a
// wrapped provider as it does on the SDK's own. It has no code of its own.
package compat
