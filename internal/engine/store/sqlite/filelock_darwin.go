package sqlite

import "syscall"

// The fcntl commands for locks. These locks belong to the process. So they do not conflict with locks
// of other connections in this process.
const (
	getLock = syscall.F_GETLK
	setLock = syscall.F_SETLK
)
