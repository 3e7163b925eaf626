package localrun

import "runtime/debug"

// These constants set the memory limit and the GC percentage of a process that works on a run. Such
// a process has little live memory but produces much garbage. The high GC percentage makes garbage
// collections rare, and the memory limit bounds the memory that the garbage takes.
const (
	baseMemory        = 40 << 20
	serverMemory      = 64 << 20 // bytes added to baseMemory if the process also serves its run over HTTP
	memoryPerPlanByte = 16       // bytes added to baseMemory for each byte of the plan
	gcPercent         = 400      // maximum size of the garbage, in percent of the live heap
)

// limitMemory sets a soft memory limit for a process that works on one run, until undo is called.
// The parameter plan is the length of the run's plan in bytes; served means that the process also
// serves the run over HTTP. Memory above the limit causes no failure: the garbage collector only
// runs more often.
func limitMemory(plan int, served bool) (undo func()) {
	most := int64(baseMemory + memoryPerPlanByte*plan)
	if served {
		most += serverMemory
	}
	limit := debug.SetMemoryLimit(most)
	percent := debug.SetGCPercent(gcPercent)
	return func() {
		debug.SetMemoryLimit(limit)
		debug.SetGCPercent(percent)
	}
}
