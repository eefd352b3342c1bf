package perf

// userAccess are the values of config1 that ask for a counter that can be read in user
// space (bit 1) and has 64 bits (bit 0), which not all PMUs have. It also takes
// kernel.perf_user_access = 1.
var userAccess = []uint64{3, 2}
