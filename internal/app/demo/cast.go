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

// Cast is the processes of a demo.
type Cast struct {
	folder  Folder
	program string // gaffer itself
	environ []string
	notice  func(text string)
	started []*exec.Cmd // by Play
	ended   sync.WaitGroup
}

// NewCast returns a cast without anybody in it. What goes wrong is told to notice.
func NewCast(f Folder, getenv func(string) string, notice func(text string)) (*Cast, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return &Cast{folder: f, program: program, environ: f.environ(getenv), notice: notice}, nil
}

// Prepare makes a repository of the project, and puts ideas in its inbox.
func (c *Cast) Prepare(ctx context.Context) error {
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
		if err := c.do(ctx, args); err != nil {
			return err
		}
	}
	return nil
}

const (
	// The worker that dies does so when everything is under way.
	laptop  = "laptop"
	dyingAt = 40 * time.Second
)

// workers are those that take tasks of the server.
func workers() [][]string {
	return [][]string{
		{"build-1", "--slots", "2", "--labels", "linux"},
		{"build-2", "--slots", "2", "--labels", "linux,docker"},
		{"gpu-1", "--slots", "1", "--labels", "linux,gpu"},
		{laptop, "--slots", "1", "--labels", "mac"},
	}
}

// Play has everything happen that is to, or begin, until ctx ends. Then nothing more
// begins, and what runs goes on until End.
func (c *Cast) Play(ctx context.Context, server string) error {
	var dying *exec.Cmd
	for _, w := range workers() {
		cmd, err := c.start(w[0], append([]string{"worker", "--server", server, "--name"}, w...)...)
		if err != nil {
			return err
		}
		if w[0] == laptop {
			dying = cmd
		}
	}
	for _, plan := range []string{"checkout.yaml", "nightly.yaml"} {
		if err := c.do(ctx, []string{c.program, "run", plan, "--server", server, "--detach"}); err != nil {
			return err
		}
	}
	for name, args := range map[string][]string{
		"fixes": {"run", "fixes.yaml", "--local"},
		"build": {"build", "chunks.yaml", "--yes"},
		"team":  {"team", "-f", "requirements.md"},
	} {
		if _, err := c.start(name, args...); err != nil {
			return err
		}
	}
	c.die(ctx, dying)
	return nil
}

// die ends a worker as if its machine had been switched off.
func (c *Cast) die(ctx context.Context, cmd *exec.Cmd) {
	t := time.NewTimer(dyingAt)
	defer t.Stop()
	select {
	case <-t.C:
		_ = cmd.Process.Kill() // it may have ended
	case <-ctx.Done():
	}
}

// do runs a command to its end.
func (c *Cast) do(ctx context.Context, argv []string) error {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = c.folder.Project(), c.environ
	cmd.SysProcAttr = apart()
	out, err := cmd.CombinedOutput()
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(append([]string{filepath.Base(argv[0])}, argv[1:]...), " "), err, strings.TrimSpace(string(out)))
	}
	return ctx.Err()
}

// start starts a command that goes on, with a log.
func (c *Cast) start(name string, args ...string) (*exec.Cmd, error) {
	log, err := os.OpenFile(filepath.Join(c.folder.logs(), name+".log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(c.program, args...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = c.folder.Project(), c.environ, log, log
	cmd.SysProcAttr = apart()
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	c.started = append(c.started, cmd)
	c.ended.Go(func() { c.await(name, cmd, log.Name()) })
	return cmd, nil
}

// await tells if a command has ended by itself and not well.
func (c *Cast) await(name string, cmd *exec.Cmd, log string) {
	failed := (*exec.ExitError)(nil)
	if err := cmd.Wait(); errors.As(err, &failed) && failed.ExitCode() > 0 {
		c.notice(fmt.Sprintf("%s has ended: %v; see %s", name, err, log))
	}
}

// End ends all of the cast and waits for it. What they have started is left to the
// keeper.
func (c *Cast) End() {
	for _, cmd := range c.started {
		_ = cmd.Process.Kill() // it may have ended
	}
	c.ended.Wait()
}

// apart keeps Ctrl-C in the terminal of the demo from its processes.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
