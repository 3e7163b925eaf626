package statefile

// Waiting returns how many updates nobody works on yet.
func (f *File) Waiting() int { return f.updates.Waiting() }
