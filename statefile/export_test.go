package statefile

// Waiting returns the number of updates whose work has not started.
func (f *File) Waiting() int { return f.updates.Waiting() }
