package engine

// Satisfies reports whether a worker with these labels may take a task with this label
// set, which is the comma-separated form of a task row.
func Satisfies(labels []string, set string) bool { return satisfies(labels, set) }
