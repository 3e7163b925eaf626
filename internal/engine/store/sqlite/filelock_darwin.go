package sqlite

import "syscall"

// The fcntl commands for locks that belong to the process. Such a lock conflicts only with locks of
// other processes, and not with those of SQLite connections in the same process.
const (
	getLock = syscall.F_GETLK
	setLock = syscall.F_SETLK
)
