package model

// A Machine is the processors of one process.
type Machine struct {
	procs      int
	Running    int   // goroutines
	short      int64 // when a processor was last without a goroutine,
	free       int64 // and idle
	poll       int64 // when the network was last looked at, and there was something
	pollBefore int64 // and the time before
}

func (m *Machine) idle() bool { return m.Running < m.procs }

// Machine is what a goroutine runs on.
func (b *Builder) Machine(g int32) *Machine {
	if b.homes == nil {
		return &b.machines[0]
	}
	return &b.machines[b.homes[g]]
}
