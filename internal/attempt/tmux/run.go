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

// ask runs one command that starts no server. running is false, and there is no
// error, if there is no server to ask.
func (s *Server) ask(ctx context.Context, args ...string) (out string, running bool, err error) {
	if err := s.check(); err != nil {
		return "", false, err
	}
	out, err = s.run(ctx, locale(), "", args...)
	if err == nil {
		return out, true, nil
	}
	if wasGone(err) || errors.As(err, new(*CommandError)) && !s.listening() {
		return "", false, nil
	}
	return "", true, err
}

// wasGone tells whether there was no server. By now there may be another one.
func wasGone(err error) bool {
	return says(err, "no server running") || says(err, "(No such file or directory)") || says(err, "(Connection refused)")
}

// maxTries is how often a command may meet a server that is about to end, since
// its last session just has. Such a server has not read the command.
const maxTries = 5

func (s *Server) run(ctx context.Context, env []string, input string, args ...string) (out string, err error) {
	for range maxTries {
		out, err = s.once(ctx, env, input, args...)
		if !says(err, "server exited unexpectedly") && !says(err, "lost server") {
			break
		}
	}
	return out, err
}

// once runs the program, with input as its standard input. It works in the root
// folder, and so does a server that it begins: none is in the way where a folder
// is to be removed.
func (s *Server) once(ctx context.Context, env []string, input string, args ...string) (string, error) {
	program, err := find()
	if err != nil {
		return "", err
	}
	limited, cancel := context.WithTimeout(ctx, s.wait)
	defer cancel()
	var out, said strings.Builder
	// A terminal that is not UTF-8 would get underscores in place of letters.
	cmd := exec.CommandContext(limited, program, slices.Concat([]string{"-u"}, s.flags(), args)...)
	cmd.Dir, cmd.Env = "/", env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(input), &out, &said
	// tmux passes its streams to the server, and one that hangs keeps them open.
	cmd.WaitDelay = time.Second
	err = cmd.Run()
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay): // which is that it has succeeded before
		return out.String(), nil
	case ctx.Err() != nil:
		return "", fmt.Errorf("tmux %s on %s: %w", args[0], s.socket, context.Cause(ctx))
	case limited.Err() != nil:
		return "", &SilentError{Command: args[0], Socket: s.socket, Waited: s.wait}
	}
	return "", &CommandError{Command: args[0], Socket: s.socket, Said: strings.TrimSpace(said.String()), Err: err}
}

// find gives the program's path.
func find() (string, error) {
	program, err := exec.LookPath("tmux")
	if err != nil {
		return "", &MissingError{err}
	}
	return program, nil
}

// locale is what tmux itself needs of our environment. The rest stays out: it
// would become the environment of every session of a server that we begin, and
// TMUX would send us to the server in whose terminal gaffer was started.
func locale() (env []string) {
	for _, name := range localeNames() {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

func localeNames() []string { return []string{"LANG", "LC_ALL", "LC_CTYPE"} }
