package forge

import (
	"os/exec"
	"syscall"
)

// endWithParent makes the kernel kill the program when the thread that starts it ends, and so when
// this process dies.
func endWithParent(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
