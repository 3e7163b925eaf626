package sqlite

import "syscall"

// The locks belong to the process.
const (
	getLock = syscall.F_GETLK
	setLock = syscall.F_SETLK
)
