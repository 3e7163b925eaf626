package tmux

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// query runs a tmux command. The caller must not pass a command that starts a server. If no server
// is running, query returns running == false and no error.
func (s *Server) query(ctx context.Context, args ...string) (out string, running bool, err error) {
	if err := s.check(); err != nil {
		return "", false, err
	}
	out, err = s.run(ctx, locale(), "", args...)
	if err == nil {
		return out, true, nil
	}
	if noServer(err) || errors.As(err, new(*CommandError)) && !s.listening() {
		return "", false, nil
	}
	return "", true, err
}

// noServer reports whether err says that no server was running. Another process may have started
// one since then.
func noServer(err error) bool {
	return stderrContains(err, "no server running") || stderrContains(err, "(No such file or directory)") || stderrContains(err, "(Connection refused)")
}

// maxTries is how often a tmux command is tried if the tmux server exits while the command runs,
// for example because the server's last session has ended.
const maxTries = 5

func (s *Server) run(ctx context.Context, env []string, input string, args ...string) (out string, err error) {
	for range maxTries {
		out, err = s.runOnce(ctx, env, input, args...)
		if !stderrContains(err, "server exited unexpectedly") && !stderrContains(err, "lost server") {
			break
		}
	}
	return out, err
}

// runOnce runs tmux with input as its stdin. tmux, and a server that it starts, run in the root
// folder, so that they do not keep any other folder in use.
func (s *Server) runOnce(ctx context.Context, env []string, input string, args ...string) (string, error) {
	program, err := find()
	if err != nil {
		return "", err
	}
	limited, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	var out, stderr strings.Builder
	// Without -u, tmux prints underscores for non-ASCII characters if the locale is not UTF-8.
	cmd := exec.CommandContext(limited, program, slices.Concat([]string{"-u"}, s.flags(), args)...)
	cmd.Dir, cmd.Env = "/", env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(input), &out, &stderr
	// After tmux has exited, do not wait long until its stdin, stdout and stderr are closed: tmux
	// passes them to the server, and a server that hangs keeps them open.
	cmd.WaitDelay = time.Second
	err = cmd.Run()
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay): // ErrWaitDelay means that tmux itself has succeeded
		return out.String(), nil
	case ctx.Err() != nil:
		return "", fmt.Errorf("tmux %s on %s: %w", args[0], s.socket, context.Cause(ctx))
	case limited.Err() != nil:
		return "", &TimeoutError{Command: args[0], Socket: s.socket, Waited: s.timeout}
	}
	return "", &CommandError{Command: args[0], Socket: s.socket, Stderr: strings.TrimSpace(stderr.String()), Err: err}
}

// find returns the path of the tmux program.
func find() (string, error) {
	program, err := exec.LookPath("tmux")
	if err != nil {
		return "", &MissingError{err}
	}
	return program, nil
}

// locale returns the locale variables of gaffer's environment, which tmux itself needs. It leaves
// out all other variables: a tmux command may start the server, and then the command's environment
// becomes the environment of every session.
func locale() (env []string) {
	for _, name := range localeNames() {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

func localeNames() []string { return []string{"LANG", "LC_ALL", "LC_CTYPE"} }
