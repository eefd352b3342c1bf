// Command accuracy holds the predictions of package causal against the real thing: small
// programs run for real, on real time, and each is asked what would be if a region were faster;
// then the region is made faster. It prints one line for each question:
//
//	accuracy join mode=overlap region=a speedup=0.25 predicted=24.9 lo=24.7 hi=25.1 actual=25.0 error=-0.1
//
//	predicted, lo, hi   by how many percent the time between visits of the progress point would
//	                    shrink, with its 95 % interval, as a Profile has it
//	actual              by how many percent it shrank when the region took speedup less of its time
//	error               predicted - actual, in percentage points
//	withheld            why there is no number, in place of the numbers
//
// One line sums a mode up:
//
//	accuracy SUMMARY mode=overlap cells=40 mean_abs_error=0.41 worst=1.90 coverage=0.95 withheld=0
//
//	cells               questions to the programs for which the mode claims to be right
//	mean_abs_error      of those answered, and the worst of them, in percentage points
//	coverage            part of those answered whose interval holds the actual value. That value is
//	                    itself measured: a comment gives the coverage with the error of both allowed for
//	withheld            how many were not answered
//
// and one more each class of programs, with class=outside, contended, computing or saturated behind
// the mode.
//
// Controls have lines of their own, and no part in the summary: two arms that are alike (a/a, an
// A/A test), a region in which nothing is done (noop), one that no goroutine waits for (aside) and
// one that ends before what is waited for (slack) have no effect; where overlap cannot be right, it
// withholds the number (withholds).
//
// # How it is measured
//
// Each program has a process of its own, in which rounds follow each other. A round asks each mode,
// then measures: the program runs on, a factor that it reads at each iteration makes the region
// faster, and windows with and without take turns. A window is compared with the mean of those
// before and after it. If those differ by more than 3 %, or other processes had a processor
// meanwhile, it is measured again; so is a block of predictions in which other processes ran. How
// often, and what had to be kept nevertheless, stands in comments.
//
// Mode runtime asks about the same programs with the locks and channels of Go, and about some that
// only the scheduler sees through, at three speed-ups. Where goroutines that do different things
// take turns at the processors a window is five times as long.
//
// Mode replay asks about more programs, each with causal's types or with Go's, at four speed-ups,
// and where programs have requests about their latency as well; with -slower, at two by which
// regions are slower. Random numbers are the same in each window. Its summary has a line for each
// class of programs, too, and one for latency:
//
//	accuracy SUMMARY mode=replay build=go types=plain class=contended cells=104 … median_width=1.10 withheld=0 first_ranked=12/13
//
//	median_width        of the intervals, in percentage points
//	first_ranked        programs in which the region predicted to bring most does, or less than a point under it, of those
//	                    asked about several and of which measurements decide which brings most
//
// Mode slowdown asks about the programs of replay, with Go's types, and judges combined answers as
// well: those of recordings within what slow-downs allow. Quantiles of latency have summaries of
// their own (metric=latency). Without -mode, programs are asked by all modes but runtime, side by
// side.
//
// With -corpus it records the programs into files, with what is true of them, for engines that read
// traces.
//
// On another machine, or beside other work, figures are worse; the comments say so.
package main
