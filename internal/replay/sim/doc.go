// Package sim replays a program by discrete-event simulation: goroutines on processors by the rules
// of Go's scheduler, and locks, channels, select statements, wait groups, timers and the like that
// decide anew, one file for each. A [Change] has regions be faster or slower, held, or the machine
// have more processors.
package sim
