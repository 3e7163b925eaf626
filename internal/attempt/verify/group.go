package verify

import (
	"os/exec"
	"syscall"
	"time"
)

// grace is how long a program has between being told to stop and being killed.
const grace = time.Second

// group is a program in a process group of its own, with what it has started.
type group struct {
	cmd    *exec.Cmd
	exited chan struct{} // closed when the program itself has ended
}

func startGroup(cmd *exec.Cmd) (*group, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	g := &group{cmd, make(chan struct{})}
	go func() {
		defer close(g.exited)
		awaitExit(cmd)
	}()
	return g, nil
}

// end ends the whole group and returns when the program is gone: first asked,
// if it still runs and there is time to ask, then killed.
func (g *group) end(grace time.Duration) {
	if grace > 0 {
		g.ask(grace)
	}
	// The program is not yet waited for, so the number is still its own.
	_ = syscall.Kill(-g.cmd.Process.Pid, syscall.SIGKILL) // if none is left that is what was wanted
	<-g.exited
	_ = g.cmd.Wait() // how it ended is in its ProcessState
}

func (g *group) ask(grace time.Duration) {
	select {
	case <-g.exited:
		return
	default:
	}
	_ = syscall.Kill(-g.cmd.Process.Pid, syscall.SIGTERM) // if none is left that is what was wanted
	select {
	case <-g.exited:
	case <-time.After(grace):
	}
}
