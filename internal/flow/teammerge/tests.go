package teammerge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"syscall"
	"time"
)

// endGrace is the time between SIGTERM and SIGKILL for a test that must be stopped. After a test
// has ended, its output is read for at most this time, because background processes may keep the
// output open.
const endGrace = 5 * time.Second

// testError reports a test command that failed, with its output.
type testError struct{ command, output string }

func (e *testError) Error() string { return fmt.Sprintf("test fails: %s", e.command) }

// runTests runs commands in the folder dir, one after the other, and copies their output to out. At
// the first command that fails, it stops and returns a [*testError].
func runTests(ctx context.Context, dir string, commands []string, out *lineWriter) error {
	for _, command := range commands {
		out.say("$ %s", command)
		if err := runTest(ctx, dir, command, out); err != nil {
			return err
		}
	}
	return nil
}

// runTest runs a command in its own process group, so that a signal reaches all processes of the
// command. runTest does not wait for background processes that still run when the command has
// ended. On Linux, gaffer ends these processes after the merge program has ended.
func runTest(ctx context.Context, dir, command string, out io.Writer) error {
	var end tailBuffer
	cmd := exec.CommandContext(ctx, "sh", "-c", command)
	cmd.Dir = dir
	both := io.MultiWriter(&end, out)
	cmd.Stdout, cmd.Stderr = both, both
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = endGrace
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err == nil || errors.Is(err, exec.ErrWaitDelay): // success; a background process may still be running
		return nil
	case cmd.ProcessState == nil || cmd.ProcessState.Success(): // the command did not start, or its output could not be read
		return fmt.Errorf("test %s: %w", command, err)
	}
	return &testError{command, end.text() + "(" + cmd.ProcessState.String() + ")"}
}
