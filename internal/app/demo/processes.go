package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Processes starts and ends the gaffer processes of a demo: the workers, and other commands such as
// 'gaffer build'.
type Processes struct {
	folder  Folder
	program string // path of the gaffer executable
	environ []string
	notice  func(text string)
	started []*exec.Cmd // processes that Start has started
	ended   sync.WaitGroup
}

// NewProcesses returns a Processes for the demo in folder f. It starts no process. The Processes
// calls the function notice to report problems to the user.
func NewProcesses(f Folder, getenv func(string) string, notice func(text string)) (*Processes, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return &Processes{folder: f, program: program, environ: f.environ(getenv), notice: notice}, nil
}

// Prepare makes the demo's project a git repository, and adds ideas to the project's inbox.
func (c *Processes) Prepare(ctx context.Context) error {
	if _, err := exec.LookPath("git"); err != nil {
		return fmt.Errorf("the demo needs git: %w", err)
	}
	for _, args := range [][]string{
		{"git", "init", "-q", "-b", "main"},
		{"git", "config", "user.name", "Demo"},
		{"git", "config", "user.email", "demo@example.com"},
		{"git", "add", "."},
		{"git", "commit", "-q", "-m", "An empty shop"},
		{c.program, "inbox", "add", "--type", "feature", "Let people pay with a voucher"},
		{c.program, "inbox", "add", "--type", "evolve", "The search should forgive typing errors"},
		{c.program, "inbox", "add", "--type", "reference", "https://example.com/how-others-do-checkout"},
	} {
		if err := c.runCommand(ctx, args); err != nil {
			return err
		}
	}
	return nil
}

const (
	// The demo kills the worker named laptop after killAfter, to show that other workers get its
	// tasks.
	laptop    = "laptop"
	killAfter = 40 * time.Second
)

// workerCommands returns the name and the flags of each 'gaffer worker' process.
func workerCommands() [][]string {
	return [][]string{
		{"build-1", "--slots", "2", "--labels", "linux"},
		{"build-2", "--slots", "2", "--labels", "linux,docker"},
		{"gpu-1", "--slots", "1", "--labels", "linux,gpu"},
		{laptop, "--slots", "1", "--labels", "mac"},
	}
}

// Start starts the workers and commands of the demo. Then it waits for killAfter, kills the worker
// named laptop, and returns. If ctx ends, Start returns at once. Processes that do not end by
// themselves run until End is called.
func (c *Processes) Start(ctx context.Context, server string) error {
	var dying *exec.Cmd
	for _, w := range workerCommands() {
		cmd, err := c.startCommand(w[0], append([]string{"worker", "--server", server, "--name"}, w...)...)
		if err != nil {
			return err
		}
		if w[0] == laptop {
			dying = cmd
		}
	}
	for _, plan := range []string{"checkout.yaml", "nightly.yaml"} {
		if err := c.runCommand(ctx, []string{c.program, "run", plan, "--server", server, "--detach"}); err != nil {
			return err
		}
	}
	for name, args := range map[string][]string{
		"fixes": {"run", "fixes.yaml", "--local"},
		"build": {"build", "chunks.yaml", "--yes"},
		"team":  {"team", "-f", "requirements.md"},
	} {
		if _, err := c.startCommand(name, args...); err != nil {
			return err
		}
	}
	c.killLater(ctx, dying)
	return nil
}

// killLater waits for killAfter, and then kills a worker with SIGKILL, so that the worker cannot
// clean up. If ctx ends first, it kills nothing.
func (c *Processes) killLater(ctx context.Context, cmd *exec.Cmd) {
	t := time.NewTimer(killAfter)
	defer t.Stop()
	select {
	case <-t.C:
		_ = cmd.Process.Kill() // ignore the error: the process may have ended already
	case <-ctx.Done():
	}
}

// runCommand runs a command and waits until it has ended.
func (c *Processes) runCommand(ctx context.Context, argv []string) error {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = c.folder.Project(), c.environ
	cmd.SysProcAttr = ownProcessGroup()
	out, err := cmd.CombinedOutput()
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(append([]string{filepath.Base(argv[0])}, argv[1:]...), " "), err, strings.TrimSpace(string(out)))
	}
	return ctx.Err()
}

// startCommand starts gaffer with the arguments args in the background. It appends the output to a
// log file, whose name is the parameter name with the extension .log.
func (c *Processes) startCommand(name string, args ...string) (*exec.Cmd, error) {
	log, err := os.OpenFile(filepath.Join(c.folder.logs(), name+".log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(c.program, args...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = c.folder.Project(), c.environ, log, log
	cmd.SysProcAttr = ownProcessGroup()
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	c.started = append(c.started, cmd)
	c.ended.Go(func() { c.await(name, cmd, log.Name()) })
	return cmd, nil
}

// await waits until a command has ended. If the command has failed, await prints a notice with the
// path of the command's log. It prints no notice if a signal killed the command.
func (c *Processes) await(name string, cmd *exec.Cmd, log string) {
	failed := (*exec.ExitError)(nil)
	if err := cmd.Wait(); errors.As(err, &failed) && failed.ExitCode() > 0 {
		c.notice(fmt.Sprintf("%s has ended: %v; see %s", name, err, log))
	}
}

// End kills the processes that Start has started, and waits until they have ended. The [Cleaner]
// later ends the child processes of these processes.
func (c *Processes) End() {
	for _, cmd := range c.started {
		_ = cmd.Process.Kill() // ignore the error: the process may have ended already
	}
	c.ended.Wait()
}

// ownProcessGroup returns attributes that give a process its own process group, so that Ctrl-C in
// the demo's terminal does not reach it.
func ownProcessGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
