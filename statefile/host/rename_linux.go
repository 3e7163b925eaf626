package host

import (
	"runtime"
	"syscall"
	"unsafe"
)

// renameat2 is the number of the Linux system call renameat2 on this architecture, or 0 if gaffer
// does not know it. The standard library does not define it.
var renameat2 = map[string]uintptr{"amd64": 316, "arm64": 276}[runtime.GOARCH]

// renameNew renames the file oldPath to newPath. It returns EEXIST if newPath exists.
func renameNew(oldPath, newPath string) error {
	if renameat2 == 0 {
		return syscall.ENOTSUP
	}
	f, err := syscall.BytePtrFromString(oldPath)
	if err != nil {
		return err
	}
	t, err := syscall.BytePtrFromString(newPath)
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
