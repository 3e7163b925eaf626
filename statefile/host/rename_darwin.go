package host

import "syscall"

// renameNew returns ENOTSUP: the standard library lacks the system call.
func renameNew(_, _ string) error { return syscall.ENOTSUP }
