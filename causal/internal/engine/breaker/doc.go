// Package breaker is the circuit breaker of plans: a sequential test of local roots, which is
// looked at all the time.
package breaker
