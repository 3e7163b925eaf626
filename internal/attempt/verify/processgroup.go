package verify

import (
	"os/exec"
	"syscall"
	"time"
)

// grace is how long a process may take to exit after SIGTERM, before it gets SIGKILL.
const grace = time.Second

// processGroup is a program that runs in its own process group. The processes that it starts also
// belong to the group, unless they leave it.
type processGroup struct {
	cmd    *exec.Cmd
	exited chan struct{} // closed when the program itself has ended
}

func startProcessGroup(cmd *exec.Cmd) (*processGroup, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	g := &processGroup{cmd, make(chan struct{})}
	go func() {
		defer close(g.exited)
		awaitExit(cmd)
	}()
	return g, nil
}

// end kills all processes of the group, and returns when the program has ended. If the program is
// still running and grace is not zero, end first sends SIGTERM to the group and waits up to grace
// for the program to exit. In all cases it then sends SIGKILL to the group.
func (g *processGroup) end(grace time.Duration) {
	if grace > 0 {
		g.terminate(grace)
	}
	// On Linux, awaitExit has not reaped the program. So the program's process id is not free for
	// reuse, and the signal cannot reach another process.
	_ = syscall.Kill(-g.cmd.Process.Pid, syscall.SIGKILL) // fails if no process of the group is left
	<-g.exited
	_ = g.cmd.Wait() // ignore the error: callers read the result from ProcessState
}

func (g *processGroup) terminate(grace time.Duration) {
	select {
	case <-g.exited:
		return
	default:
	}
	_ = syscall.Kill(-g.cmd.Process.Pid, syscall.SIGTERM) // fails if no process of the group is left
	select {
	case <-g.exited:
	case <-time.After(grace):
	}
}
