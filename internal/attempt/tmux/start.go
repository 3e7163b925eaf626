package tmux

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// Start creates a detached session that runs the program argv in the folder dir. argv[0] must be an
// absolute path. The program gets its arguments unchanged: no shell parses them.
//
// env is the program's complete environment, whatever the environment of the tmux server is. tmux
// sets TERM, TERM_PROGRAM, TERM_PROGRAM_VERSION, TMUX, TMUX_PANE and PWD in it, and PATH and SHELL
// if they are missing. Entries that are not of the form NAME=VALUE have no effect. Other users
// cannot see argv and env while they are passed to tmux.
//
// If a session of this name exists, the error is an [*ExistsError]. If the server stops answering
// or dies during the call, Start returns another error, although the program may have been started.
// The caller can find out with [Server.Has].
func (s *Server) Start(ctx context.Context, session string, argv, env []string, dir string) error {
	if err := checkStart(session, argv, env, dir); err != nil {
		return err
	}
	if err := s.check(); err != nil {
		return err
	}
	if err := s.makeFolder(); err != nil {
		return err
	}
	// Pass the commands on standard input. If they were passed as arguments of tmux, they would be
	// limited to 16 kB and visible to all users of the machine. The arguments of the tmux command
	// that starts the server would even stay visible as long as the server runs.
	_, err := s.run(ctx, clientEnv(env), script(session, argv, env, dir), "start-server", ";", "source-file", "-")
	switch {
	case stderrContains(err, "duplicate session"):
		return &ExistsError{Session: session, Socket: s.socket}
	case err != nil:
		return fmt.Errorf("start session %s: %w", session, err)
	}
	return nil
}

// clientEnv returns the environment of the tmux client that starts a session. The client must have
// the PATH of env, because tmux gives the program the client's PATH, not the PATH that is set for
// the session.
func clientEnv(env []string) []string {
	if path, ok := lookup(env, "PATH"); ok {
		return append(locale(), "PATH="+path)
	}
	return locale()
}

// lookup returns the value of a variable in env. If the variable occurs several times, the
// last value counts.
func lookup(env []string, name string) (value string, ok bool) {
	for _, entry := range env {
		if key, v, _ := strings.Cut(entry, "="); key == name {
			value, ok = v, true
		}
	}
	return value, ok
}

func checkStart(session string, argv, env []string, dir string) error {
	refuse := func(format string, args ...any) error {
		return &SpecError{session, fmt.Sprintf(format, args...)}
	}
	switch {
	case !isValidName(session):
		return refuse("tmux cannot have a session of this name")
	case len(argv) == 0:
		return refuse("no program to run")
	case !filepath.IsAbs(argv[0]):
		return refuse("the program %q is not an absolute path", argv[0])
	}
	for _, text := range append(append([]string{dir}, argv...), env...) {
		if strings.ContainsRune(text, 0) {
			return refuse("%q has a zero byte", text)
		}
	}
	// Check the program and the folder here, because tmux would report no error. If the program
	// were missing, the session would end at once. If the folder were missing, the session would
	// start in another folder.
	if _, err := exec.LookPath(argv[0]); err != nil {
		return fmt.Errorf("start session %s: %w", session, err)
	}
	if info, err := os.Stat(dir); err != nil {
		return fmt.Errorf("start session %s: %w", session, err)
	} else if !info.IsDir() {
		return fmt.Errorf("start session %s: %w", session, &os.PathError{Op: "enter", Path: dir, Err: syscall.ENOTDIR})
	}
	return nil
}
