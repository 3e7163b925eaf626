package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
)

const (
	// maxOutput is the maximum size of a command's stdout, and of its stderr, in bytes. If git
	// prints more, the call fails.
	maxOutput = 256 << 20
	// endGrace is how long a git command that is being stopped may take to delete its lock files,
	// before it is killed.
	endGrace = 5 * time.Second
	// Mark is an environment variable of every git process that gaffer starts. When gaffer looks
	// for programs that still use a worktree, it ignores processes with this variable.
	Mark = "GAFFER_WORKTREE_GIT=1"
)

// settings returns the git options for every command. They turn off hooks and background work, and
// override the user's git settings that would change what a command does. The option core.fsync
// makes commits survive a power failure.
func settings() []string {
	return []string{
		"--no-pager",
		"-c", "core.hooksPath=/dev/null",
		"-c", "core.fsmonitor=false",
		"-c", "core.ignoreStat=false",
		"-c", "core.safecrlf=false",
		"-c", "core.fsync=committed",
		"-c", "log.showSignature=false",
		"-c", "gc.auto=0",
		"-c", "maintenance.auto=false",
		"-c", "advice.addEmbeddedRepo=false",
		"-c", "i18n.commitEncoding=UTF-8",
	}
}

// userVariables returns the names of the git variables that describe the user and the machine. The
// function environ removes all other git variables, such as GIT_DIR. If git has started gaffer, for
// example in a hook, they describe that git command's repository, which may be another one.
func userVariables() []string {
	return []string{
		"GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL",
		"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM",
		"GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM",
		"GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH",
	}
}

// environ returns the environment for git: base with the variables that gaffer sets. Of the git
// variables in base, it keeps only those that userVariables lists.
func environ(base []string) []string {
	env := slices.DeleteFunc(slices.Clone(base), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return strings.HasPrefix(name, "GIT_") && !slices.Contains(userVariables(), name) || name == "LANGUAGE"
	})
	return append(env, "LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "GIT_EDITOR=true", Mark)
}

// Client runs the git program in one folder. Its methods return an [*Error] if git fails.
type Client struct {
	program   string
	Dir       string // the folder in which git runs
	GitFolder string // path of the git folder of the worktree at Dir; set by [Repo.InWorktree]
	env       []string
	// hold is a locked file that the git processes inherit. So it stays locked until they have
	// ended, even if gaffer is killed. It is nil outside of [Repo.Locked].
	hold *os.File
}

// In returns a copy of the client that runs git in the folder dir.
func (g Client) In(dir string) Client { g.Dir = dir; return g }

// With returns a copy of the client that passes additional environment variables to git.
func (g Client) With(env ...string) Client {
	g.env = append(slices.Clone(g.env), env...)
	return g
}

// Run runs a git command and returns its stdout, even if git exits with an error. It returns no
// output if ctx has ended or git prints more than maxOutput.
func (g Client) Run(ctx context.Context, args ...string) (string, error) {
	return g.Feed(ctx, "", args...)
}

// Line does the same as Run, and removes the newline at the end of the output.
func (g Client) Line(ctx context.Context, args ...string) (string, error) {
	out, err := g.Run(ctx, args...)
	return strings.TrimSuffix(out, "\n"), err
}

// Feed does the same as Run, with the given text on git's stdin.
func (g Client) Feed(ctx context.Context, stdin string, args ...string) (string, error) {
	var out, said capped
	out.room, said.room = maxOutput, maxOutput
	cmd := g.command(ctx, args)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &said
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		return "", fmt.Errorf("git %s: %w", args[0], context.Cause(ctx))
	case out.full || said.full:
		return "", fmt.Errorf("git %s: it prints more than %d MiB", args[0], maxOutput>>20)
	case err == nil:
		return out.String(), nil
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		err = &Error{Args: args, Dir: g.Dir, Exit: exit.ExitCode(), Said: strings.TrimSpace(said.String())}
	}
	return out.String(), err
}

// command returns a git command with its own process group. So Ctrl-C in the terminal reaches only
// gaffer, and does not interrupt git halfway.
func (g Client) command(ctx context.Context, args []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, g.program, append(settings(), args...)...)
	cmd.Dir, cmd.Env = g.Dir, g.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = endGrace
	if g.hold != nil {
		cmd.ExtraFiles = []*os.File{g.hold}
	}
	return cmd
}

// ExitCode returns git's exit code if err is an [*Error], and -1 otherwise.
func ExitCode(err error) int {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Exit
	}
	return -1
}

// capped is a buffer for at most room bytes. A Write that does not fit fails, and sets the field
// full.
type capped struct {
	bytes.Buffer
	room int
	full bool
}

func (c *capped) Write(p []byte) (int, error) {
	if c.Len()+len(p) > c.room {
		c.full = true
		return 0, errors.New("full")
	}
	return c.Buffer.Write(p)
}
