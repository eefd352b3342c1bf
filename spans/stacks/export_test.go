package stacks

// ProcessTime is for tests that work for a while, however busy the machine is.
var ProcessTime = processTime
