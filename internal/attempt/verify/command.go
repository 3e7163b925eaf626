package verify

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// tryCommand runs a check's shell command once. Then it ends the remaining processes of the
// command's process group. If a process that has left the group keeps the output open, tryCommand
// stops reading after outputWait.
func tryCommand(ctx context.Context, dir string, c Check) tryResult {
	cmd := exec.Command("sh", "-c", c.Command)
	cmd.Dir = dir
	out, err := captureOutput(cmd)
	if err != nil {
		return tryResult{problem: err.Error()}
	}
	g, err := startProcessGroup(cmd)
	if err != nil {
		out.end()
		return tryResult{problem: fmt.Sprintf("start: %v", err)}
	}
	select {
	case <-g.exited:
	case <-ctx.Done():
	}
	cut := ctx.Err() != nil && running(g)
	g.end(grace)
	return tryResult{problem: describeEnd(ctx, cmd, cut, c.timeout()), output: out.end()}
}

func running(g *processGroup) bool {
	select {
	case <-g.exited:
		return false
	default:
		return true
	}
}

// describeEnd describes how a command failed. It returns "" if the command succeeded. The parameter
// cut says whether the command was still running when ctx ended, and was therefore stopped.
func describeEnd(ctx context.Context, cmd *exec.Cmd, cut bool, timeout time.Duration) string {
	switch {
	case cut && errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Sprintf("did not end within %s and was stopped", timeout)
	case cut:
		return "was stopped before it ended"
	case cmd.ProcessState.Success():
		return ""
	}
	return cmd.ProcessState.String()
}

// output collects the last part of a program's output while the program runs.
type output struct {
	from, to *os.File
	kept     tail
	done     chan struct{}
}

// captureOutput returns an output that collects the stdout and stderr of cmd.
func captureOutput(cmd *exec.Cmd) (*output, error) {
	from, to, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	o := &output{from: from, to: to, done: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = to, to
	go func() {
		defer close(o.done)
		// Copy returns when no process has the write end of the pipe open, or at the read deadline
		// that o.end sets.
		_, _ = io.Copy(&o.kept, from)
	}()
	return o, nil
}

// outputWait is how long to wait for further output after all processes of a program's process
// group have ended. A process that left the group may keep the output pipe open forever.
const outputWait = time.Second

// end closes this process's write end of the pipe and waits up to outputWait for further output.
// Then it stops reading and returns the last part of the output.
func (o *output) end() string {
	_ = o.to.Close()
	_ = o.from.SetReadDeadline(time.Now().Add(outputWait))
	<-o.done
	_ = o.from.Close()
	return o.kept.String()
}
