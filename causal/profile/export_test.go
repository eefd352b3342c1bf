package profile

// Explained is for tests outside.
func Explained(p Profile, progress string) (sum, stdErr float64, in, all int) {
	return p.explained(progress)
}
