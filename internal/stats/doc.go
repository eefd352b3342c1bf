// Package stats has the statistics of causal profiles: the mean of measurements that resemble each
// other and its interval, the jackknife of a ratio of totals, a confidence sequence that decides
// when to stop, and the p-values of many hypotheses. All functions are pure; what they take is in
// the order of time.
package stats
