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

// endGrace is how long a test has between being told to stop and being killed,
// and its output between its end and being closed.
const endGrace = 5 * time.Second

// testError is a test that failed.
type testError struct{ command, output string }

func (e *testError) Error() string { return fmt.Sprintf("test fails: %s", e.command) }

// runTests runs commands in a folder, one after the other, until one fails,
// which is a [*testError]. What they print is passed on.
func runTests(ctx context.Context, dir string, commands []string, out *lineWriter) error {
	for _, command := range commands {
		out.say("$ %s", command)
		if err := runTest(ctx, dir, command, out); err != nil {
			return err
		}
	}
	return nil
}

// runTest runs a command in a process group of its own, so that all of it is
// told to stop. What it leaves behind is the supervisor's business: it is not
// waited for, and its output is not read any more.
func runTest(ctx context.Context, dir, command string, out io.Writer) error {
	var end tail
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
	case err == nil || errors.Is(err, exec.ErrWaitDelay): // it ended well, and something that it started goes on
		return nil
	case cmd.ProcessState == nil || cmd.ProcessState.Success(): // it did not start, or its output could not be read
		return fmt.Errorf("test %s: %w", command, err)
	}
	return &testError{command, end.text() + "(" + cmd.ProcessState.String() + ")"}
}
