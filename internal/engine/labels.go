package engine

// Satisfies reports whether a worker that has some labels may take a task whose
// row has a set of them.
func Satisfies(labels []string, set string) bool { return satisfies(labels, set) }
