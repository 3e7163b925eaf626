package sqlite

import "syscall"

// These locks belong to the process.
const (
	getLock = syscall.F_GETLK
	setLock = syscall.F_SETLK
)
