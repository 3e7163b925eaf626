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

// Start begins a session that runs the program argv in dir, in a terminal that
// nobody is attached to. argv[0] is an absolute path, and the program gets its
// arguments exactly as they are: no shell reads them.
//
// env is the program's whole environment, wherever the server was begun; tmux
// sets TERM, TERM_PROGRAM, TERM_PROGRAM_VERSION, TMUX, TMUX_PANE and PWD in it,
// and PATH and SHELL if they are not there. An entry without a name or a = is
// passed over. Neither argv nor env can be seen by other users while tmux is told
// of them.
//
// A session of that name that is there already is an [*ExistsError]. After
// another error the program may have been started all the same if the server
// fell silent or died just then: [Server.Has] tells.
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
	// The commands are handed over as a file. As arguments they could not be longer
	// than 16 kB, everybody could read them, and those that begin the server would
	// stay to be read as long as it runs.
	_, err := s.run(ctx, clientEnv(env), script(session, argv, env, dir), "start-server", ";", "source-file", "-")
	switch {
	case says(err, "duplicate session"):
		return &ExistsError{Session: session, Socket: s.socket}
	case err != nil:
		return fmt.Errorf("start session %s: %w", session, err)
	}
	return nil
}

// clientEnv is what the tmux that starts a session runs with. tmux gives its own
// PATH to the program, and not the session's.
func clientEnv(env []string) []string {
	if path, ok := lookup(env, "PATH"); ok {
		return append(locale(), "PATH="+path)
	}
	return locale()
}

// lookup finds a variable; as everywhere, the last of equals counts.
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
	case !keepsItsName(session):
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
	// tmux would say nothing: the session would end at once, or begin elsewhere.
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
