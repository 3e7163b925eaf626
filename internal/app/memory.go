package app

import "runtime/debug"

// Little is held while a run is worked on, and much is garbage soon. So garbage
// is collected by how much memory there is altogether rather than by how much
// is held: seldom in a small run, earlier in a large one.
const (
	memoryAlways = 40 << 20
	memoryShown  = 64 << 20 // more, for those who are shown it by the same process
	memoryOfPlan = 16       // times the plan's size
	garbage      = 400      // per cent of what is held, at most
)

// frugal bounds the memory that is used for a run with a plan of so many bytes,
// until it is undone. It is no limit: what is held may be more, and then
// collecting garbage takes more time. It is for a process that works on one run,
// which it may also show.
func frugal(plan int, shown bool) (undo func()) {
	most := int64(memoryAlways + memoryOfPlan*plan)
	if shown {
		most += memoryShown
	}
	limit := debug.SetMemoryLimit(most)
	percent := debug.SetGCPercent(garbage)
	return func() {
		debug.SetMemoryLimit(limit)
		debug.SetGCPercent(percent)
	}
}
