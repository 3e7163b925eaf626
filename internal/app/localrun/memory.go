package localrun

import "runtime/debug"

// A run has little live memory but produces much garbage. So the garbage collector is
// triggered by total memory instead of by the growth of the live heap. It then runs rarely
// in a small run, and more often in a large one.
const (
	baseMemory        = 40 << 20
	serverMemory      = 64 << 20 // added if the process also serves its run over HTTP
	memoryPerPlanByte = 16       // multiplied by the plan's size
	gcPercent         = 400      // GC percentage: garbage relative to the live heap, at most
)

// limitMemory sets a soft memory limit for a run whose plan has that many bytes, until undo
// is called. If the live heap exceeds the limit, the collector only takes more time. It
// is meant for a process that works on one run, and may also serve it.
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
