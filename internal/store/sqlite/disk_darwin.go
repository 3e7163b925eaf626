package sqlite

import "os"

// flush returns when what was written to a file is on the disk.
func flush(f *os.File) error { return f.Sync() }

func mark(*os.File) error { return nil }

// alone is never known: a lock belongs to the process, and is gone when any
// connection closes the file. So each session is synced before it is seen.
func alone(*os.File) (bool, error) { return false, nil }
