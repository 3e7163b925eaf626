package host

import (
	"runtime"
	"syscall"
	"unsafe"
)

// renameat2 is the number of the system call, by architecture. The standard library
// does not define it.
var renameat2 = map[string]uintptr{"amd64": 316, "arm64": 276}[runtime.GOARCH]

// renameNew renames from to to unless to exists.
func renameNew(from, to string) error {
	if renameat2 == 0 {
		return syscall.ENOTSUP
	}
	f, err := syscall.BytePtrFromString(from)
	if err != nil {
		return err
	}
	t, err := syscall.BytePtrFromString(to)
	if err != nil {
		return err
	}
	const here, noReplace = -100, 1
	at := here
	_, _, errno := syscall.Syscall6(renameat2, uintptr(at), uintptr(unsafe.Pointer(f)), uintptr(at), uintptr(unsafe.Pointer(t)), noReplace, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
