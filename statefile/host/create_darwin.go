package host

import (
	"io/fs"
	"syscall"
)

// createComplete returns ENOTSUP: macOS cannot create a file without a name and name it later.
func createComplete(string, []byte, fs.FileMode) error { return syscall.ENOTSUP }
