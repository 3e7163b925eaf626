package forge

import (
	"os/exec"
	"syscall"
)

// endWithParent makes the kernel kill the program cmd when this process dies. More precisely, the
// kernel kills the program when the thread that has started it ends. So the caller must call
// [runtime.LockOSThread] and stay on its thread until the program has ended.
func endWithParent(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
