package forge

import (
	"os/exec"
	"syscall"
)

// endWithParent makes the kernel kill the program when this process dies. More precisely, the
// kernel kills the program when the thread that has started it ends, so the caller must lock that
// thread.
func endWithParent(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
