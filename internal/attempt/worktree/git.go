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
	// maxOutput is the largest output of one command, in bytes.
	maxOutput = 256 << 20
	// endGrace is the time that a stopped git gets to delete its lock files.
	endGrace = 5 * time.Second
	// mark is in the environment of every git that gaffer runs, so that a git at work
	// in a worktree does not count as its occupant.
	mark = "GAFFER_WORKTREE_GIT=1"
)

// settings returns git options for every command. They turn off hooks, background work
// and machine settings that would make a step behave differently. The fsync setting
// makes commits survive a power failure. The options also override programs in the
// repository's own settings; see withoutProgram for others.
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

// kept returns the git variables that describe the user and the machine. All others,
// such as GIT_DIR, belong to some other command.
func kept() []string {
	return []string{
		"GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL",
		"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM",
		"GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM",
		"GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH",
	}
}

// environ returns the environment for git.
func environ(from []string) []string {
	env := slices.DeleteFunc(slices.Clone(from), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return strings.HasPrefix(name, "GIT_") && !slices.Contains(kept(), name) || name == "LANGUAGE"
	})
	return append(env, "LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "GIT_EDITOR=true", mark)
}

// git runs the git program in one folder.
type git struct {
	program string
	dir     string
	folder  string // git folder of the worktree that it works in
	env     []string
	hold    *os.File // open file that the command inherits, see awaitOrphans
}

func (g git) in(dir string) git { g.dir = dir; return g }

func (g git) with(env ...string) git {
	g.env = append(slices.Clone(g.env), env...)
	return g
}

// run returns the output of a command, even together with a [*GitError].
func (g git) run(ctx context.Context, args ...string) (string, error) {
	return g.feed(ctx, "", args...)
}

// line is run without the trailing newline.
func (g git) line(ctx context.Context, args ...string) (string, error) {
	out, err := g.run(ctx, args...)
	return strings.TrimSuffix(out, "\n"), err
}

// feed is run with text on stdin.
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

// command puts git into its own process group, so that Ctrl-C in the terminal reaches
// only gaffer and does not interrupt git halfway.
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

// commit resolves a name to a commit, or to "" if it does not exist.
func (g git) commit(ctx context.Context, name string) (string, error) {
	return g.resolve(ctx, name+"^{commit}")
}

func (g git) resolve(ctx context.Context, name string) (string, error) {
	id, err := g.line(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", name)
	if exitCode(err) > 0 { // 1 if it does not exist, 128 if it is not a valid name
		return "", nil
	}
	return id, err
}

// has reports whether a commit contains another.
func (g git) has(ctx context.Context, commit, other string) (bool, error) {
	_, err := g.run(ctx, "merge-base", "--is-ancestor", other, commit)
	if exitCode(err) == 1 {
		return false, nil
	}
	return err == nil, err
}

// exitCode returns git's exit code, or -1 if err is nil or another error.
func exitCode(err error) int {
	if e, ok := errors.AsType[*GitError](err); ok {
		return e.Exit
	}
	return -1
}

// capped is a buffer with a size limit.
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
