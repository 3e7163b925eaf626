package host

import "syscall"

// renameNew returns ENOTSUP: the standard library lacks the system call that renames a file without
// replacing an existing one.
func renameNew(_, _ string) error { return syscall.ENOTSUP }
