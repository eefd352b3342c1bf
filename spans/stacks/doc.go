// Package stacks shows which functions and lines the processors are in while a region runs.
//
// A [Profiler] takes samples of the whole process, 100 in a second of processor time, and knows of
// each in which region its goroutine was. The call stacks of a region are merged into a [Tree]:
// stacks that begin alike share a trunk and part where they differ, and each node has the number of
// samples that go through it and of samples that end in it. The same is there for the process as a
// whole and, if asked for, for a single session.
//
// Trees can be merged, walked by [Tree.Visit], and written as text, as a flame graph, and in the
// formats of pprof, speedscope and flame graph scripts. A [Recording] is a file with all of them
// that is readable anywhere.
//
// # What leaves the process
//
// The names of functions, the base names of their files, and lines. No arguments, no addresses, no
// directories. A goroutine's label is a number, with [WithSpanLabels] also the name and the IDs of
// its span. [Profiler.ServeHTTP] has the application's own labels too.
//
// # What the numbers are
//
// Samples count processor time: a goroutine that waits is in none. n samples of N estimate a share
// of n/N, with a standard error of sqrt(n/N·(1-n/N)/N); below 100 samples a tree notes that these
// are too few. The time of each window of some seconds is scaled to what the kernel says the
// process took, so that samples that were lost do not make it less.
package stacks
