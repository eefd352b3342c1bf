// The functions of the runtime in runtime.go have no bodies there. The compiler accepts that in
// packages with an assembly file.
