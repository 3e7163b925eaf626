package verify

import (
	"os/exec"
	"syscall"
	"unsafe"
)

// awaitExit returns when the program has ended and leaves it to be waited for:
// until then nobody else can get its number.
func awaitExit(cmd *exec.Cmd) {
	const byPID = 1     // P_PID
	var info [16]uint64 // a siginfo_t has 128 bytes
	options := syscall.WEXITED | syscall.WNOWAIT
	for {
		_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, byPID, uintptr(cmd.Process.Pid), uintptr(unsafe.Pointer(&info[0])), uintptr(options), 0, 0)
		if errno != syscall.EINTR {
			return
		}
	}
}
