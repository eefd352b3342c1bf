// Package infer finds what else a recording does not show: which waits are for one object and who
// serves it, what is handed over with an element, who writes what comes from a connection, rate
// limiters and tickers, what select statements would choose, and from where goroutines begin anew.
package infer
