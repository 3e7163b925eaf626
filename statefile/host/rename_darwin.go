package host

import "syscall"

// renameNew is not supported: the standard library lacks the system call.
func renameNew(_, _ string) error { return syscall.ENOTSUP }
