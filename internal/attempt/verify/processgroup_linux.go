package verify

import (
	"os/exec"
	"syscall"
	"unsafe"
)

// awaitExit returns when the program has ended, without reaping it. Until it is reaped,
// its process id cannot be reused.
func awaitExit(cmd *exec.Cmd) {
	const byPID = 1     // value of the constant P_PID of waitid
	var info [16]uint64 // buffer for a siginfo_t, which has 128 bytes
	options := syscall.WEXITED | syscall.WNOWAIT
	for {
		_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, byPID, uintptr(cmd.Process.Pid), uintptr(unsafe.Pointer(&info[0])), uintptr(options), 0, 0)
		if errno != syscall.EINTR {
			return
		}
	}
}
