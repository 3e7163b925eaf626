package worktree

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
	// maxOutput is what is read of one command.
	maxOutput = 256 << 20
	// endGrace is what git gets to take its lock files away when it is stopped.
	endGrace = 5 * time.Second
	// mark is in the environment of each git that we run, so that one which is
	// at work in a worktree is not taken for its occupant.
	mark = "GAFFER_WORKTREE_GIT=1"
)

// settings hold for every command. Hooks, background work and the machine's
// own ideas would make the same step do different things; fsync is what makes
// "kept" true after a power cut. None of these programs may come from the
// repository's own settings either; see withoutProgram for others.
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

// kept are the variables of git that say who the person is and how the machine
// is set up. All others, such as GIT_DIR, are about some other command.
func kept() []string {
	return []string{
		"GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL",
		"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM",
		"GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM",
		"GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH",
	}
}

// environ is what git is given of an environment.
func environ(from []string) []string {
	env := slices.DeleteFunc(slices.Clone(from), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return strings.HasPrefix(name, "GIT_") && !slices.Contains(kept(), name) || name == "LANGUAGE"
	})
	return append(env, "LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "GIT_EDITOR=true", mark)
}

// git is the git program as it is run in one place.
type git struct {
	program string
	dir     string
	folder  string // the git folder of the worktree that it is at work in
	env     []string
	hold    *os.File // is kept open by the command as long as it runs
}

func (g git) in(dir string) git { g.dir = dir; return g }

func (g git) with(env ...string) git {
	g.env = append(slices.Clone(g.env), env...)
	return g
}

// run gives what a command prints. It is there with a [*GitError] as well.
func (g git) run(ctx context.Context, args ...string) (string, error) {
	return g.feed(ctx, "", args...)
}

// line is run without the end of the line.
func (g git) line(ctx context.Context, args ...string) (string, error) {
	out, err := g.run(ctx, args...)
	return strings.TrimSuffix(out, "\n"), err
}

// feed is run with something on stdin.
func (g git) feed(ctx context.Context, stdin string, args ...string) (string, error) {
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
		err = &GitError{Args: args, Dir: g.dir, Exit: exit.ExitCode(), Said: strings.TrimSpace(said.String())}
	}
	return out.String(), err
}

// command is in a process group of its own: an interrupt from the terminal is
// for us and not for a git that is halfway through.
func (g git) command(ctx context.Context, args []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, g.program, append(settings(), args...)...)
	cmd.Dir, cmd.Env = g.dir, g.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = endGrace
	if g.hold != nil {
		cmd.ExtraFiles = []*os.File{g.hold}
	}
	return cmd
}

// commit resolves a name to a commit, or to "" if there is none.
func (g git) commit(ctx context.Context, name string) (string, error) {
	return g.resolve(ctx, name+"^{commit}")
}

func (g git) resolve(ctx context.Context, name string) (string, error) {
	id, err := g.line(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", name)
	if exitCode(err) > 0 { // 1 if it is not there, 128 if it cannot be a name
		return "", nil
	}
	return id, err
}

// has tells whether one commit contains another.
func (g git) has(ctx context.Context, commit, other string) (bool, error) {
	_, err := g.run(ctx, "merge-base", "--is-ancestor", other, commit)
	if exitCode(err) == 1 {
		return false, nil
	}
	return err == nil, err
}

// exitCode is what git ended with, or -1 for another error or none.
func exitCode(err error) int {
	if e, ok := errors.AsType[*GitError](err); ok {
		return e.Exit
	}
	return -1
}

// capped is a buffer that takes no more than it has room for.
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
