package statefile

// Waiting returns the number of updates that are queued but not yet being applied.
func (f *File) Waiting() int { return f.updates.Waiting() }
