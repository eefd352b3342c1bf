// Package experiment is the design and the analysis of experiments: which arms a round has (arm.go,
// rounds.go, needs.go, regions.go), what an experiment has measured (experiment.go, visits.go,
// paths.go), and what it answers: pairs of arms and baselines of overlaps (pairs.go), contrasts of
// slow-downs (contrasts.go), iterations of dilations (iterations.go), and what speaks against a
// number (evidence.go, deprived.go).
package experiment
