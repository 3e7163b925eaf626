package forge

import (
	"os/exec"
	"syscall"
)

// endWithParent makes the kernel kill the program when this process dies. The kernel also kills it
// when only the thread that has started it ends.
func endWithParent(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
