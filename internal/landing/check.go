package landing

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"gaffer/internal/attempt/supervisor"
	"gaffer/internal/plan/secret"
	"gaffer/internal/text/truncate"
)

const (
	// endGrace is how long a check, a command that tests the merged files, may take to exit after
	// SIGTERM, before it gets SIGKILL. It is also how long a check's output may stay open after the
	// check has exited.
	endGrace = 5 * time.Second
	// reportEvery is the interval between two progress messages about a check that takes long.
	reportEvery = 10 * time.Second
	// keptOutput is the maximum size of the end of a failed check's output that is reported, in
	// bytes.
	keptOutput = 4 << 10
)

// checkError reports that a task's check has failed on the merged files.
type checkError struct{ task, command, output string }

func (e *checkError) Error() string {
	text := fmt.Sprintf("a check of the merged files fails: %s", e.command)
	if e.output != "" {
		text += "\n" + e.output
	}
	return text
}

// Hint returns advice for the user.
func (e *checkError) Hint() string {
	return "nothing was merged; --fix sends this to the agent of " + e.task
}

// verify runs the check commands of a task in the folder dir, which contains the merged files. The
// commands get the task's environment variables.
func (l *Lander) verify(ctx context.Context, c *change, dir string) error {
	clean := supervisor.WithoutSecrets(os.Environ())
	vars, err := secret.Resolver{Environ: clean, Dir: dir, Find: supervisor.FindProgram}.Resolve(ctx, c.spec.Env)
	if err != nil {
		return err
	}
	env := append(clean, "GAFFER_RUN="+c.task.Run, "GAFFER_TASK="+c.task.Task)
	env = append(env, vars...)
	for _, command := range c.spec.Verify {
		l.opts.Progress(fmt.Sprintf("%s: checking the merged files: %s", c.task.Task, command))
		if err := l.runCheck(ctx, c.task.Task, dir, command, env); err != nil {
			return err
		}
	}
	return nil
}

// runCheck runs a command in its own process group. When the command has ended, runCheck kills all
// remaining processes of the group. It returns a [*checkError] if the command fails.
func (l *Lander) runCheck(ctx context.Context, task, dir, command string, env []string) error {
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, "sh", "-c", command)
	cmd.Dir, cmd.Env, cmd.Stdout = dir, env, &tail{&out}
	cmd.Stderr = cmd.Stdout
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = endGrace
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("check %s: %w", command, err)
	}
	ended := make(chan struct{})
	reported := make(chan struct{})
	go func() {
		defer close(reported)
		tick := time.NewTicker(reportEvery)
		defer tick.Stop()
		for since := reportEvery; ; since += reportEvery {
			select {
			case <-tick.C:
				l.opts.Progress(fmt.Sprintf("%s: still checking after %s: %s", task, since, command))
			case <-ended:
				return
			}
		}
	}()
	err := cmd.Wait()
	close(ended)
	<-reported
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // ignore the error: the group may have no processes any more
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err == nil, errors.Is(err, exec.ErrWaitDelay):
		// ErrWaitDelay means that the command succeeded, but a process that the command started
		// still held the output open.
		return nil
	case cmd.ProcessState == nil || cmd.ProcessState.Success():
		return fmt.Errorf("check %s: %w", command, err)
	}
	text := strings.TrimSpace(strings.ToValidUTF8(truncate.Tail(out.String(), keptOutput), "\ufffd"))
	return &checkError{task, command, strings.TrimSpace(text + "\n(" + cmd.ProcessState.String() + ")")}
}

// tail is a writer that keeps only the last 2*keptOutput bytes that are written to it.
type tail struct{ kept *bytes.Buffer }

func (t *tail) Write(p []byte) (int, error) {
	t.kept.Write(p)
	if over := t.kept.Len() - 2*keptOutput; over > 0 {
		t.kept.Next(over)
	}
	return len(p), nil
}
