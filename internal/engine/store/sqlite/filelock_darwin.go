package sqlite

import "syscall"

// The fcntl commands for locks. These locks belong to the process.
const (
	getLock = syscall.F_GETLK
	setLock = syscall.F_SETLK
)
