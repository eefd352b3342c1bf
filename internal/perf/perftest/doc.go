// Package perftest has what the tests of counters share: work whose instructions are known,
// and ways to take a child process's permissions away.
package perftest
