// Package tmux runs programs in terminals that users can attach to. It starts a separate tmux
// server for gaffer, which does not touch the user's own tmux sessions, settings and key bindings,
// and does not depend on them.
//
// A session is only for watching. It must not be used to find out whether or how its program has
// ended: a server that is killed loses all its sessions, and their programs only receive SIGHUP,
// which a program can ignore.
package tmux

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Server is a tmux server that belongs to gaffer. Its socket identifies it. The first call of
// [Server.Start] starts the server, and the server exits when its last session has ended.
type Server struct {
	socket  string
	timeout time.Duration // how long the server may take to answer
}

// answerTimeout is how long a server may take to answer. Without the limit, a server that was
// stopped with SIGSTOP would block gaffer.
const answerTimeout = 10 * time.Second

// New returns the server with the given socket, which is the path of a Unix socket. It does not
// start the server.
func New(socket string) *Server { return &Server{socket: socket, timeout: answerTimeout} }

// Session is one session of the server.
type Session struct {
	Name     string
	PID      int // pid of the session's program
	Attached int // number of attached tmux clients
	Created  time.Time
}

// List returns the sessions, sorted by name. It returns none if the server is not
// running.
func (s *Server) List(ctx context.Context) ([]Session, error) {
	const format = "#{session_created} #{session_attached} #{pane_pid} #{session_name}"
	out, running, err := s.query(ctx, "list-sessions", "-F", format)
	if err != nil || !running {
		return nil, err
	}
	var list []Session
	for line := range strings.Lines(out) {
		one, err := parseSession(strings.TrimSuffix(line, "\n"))
		if err != nil {
			return nil, fmt.Errorf("tmux list-sessions on %s: %w", s.socket, err)
		}
		list = append(list, one)
	}
	slices.SortFunc(list, func(a, b Session) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

func parseSession(line string) (Session, error) {
	words := strings.SplitN(line, " ", 4)
	if len(words) != 4 {
		return Session{}, fmt.Errorf("cannot read the line %q", line)
	}
	created, err1 := strconv.ParseInt(words[0], 10, 64)
	attached, err2 := strconv.Atoi(words[1])
	pid, err3 := strconv.Atoi(words[2])
	if err := errors.Join(err1, err2, err3); err != nil {
		return Session{}, fmt.Errorf("cannot read the line %q: %w", line, err)
	}
	return Session{Name: words[3], PID: pid, Attached: attached, Created: time.Unix(created, 0)}, nil
}

// Has reports whether a session of exactly this name exists.
func (s *Server) Has(ctx context.Context, session string) (bool, error) {
	list, err := s.List(ctx)
	return slices.ContainsFunc(list, func(one Session) bool { return one.Name == session }), err
}

// Alive reports whether the server is running.
func (s *Server) Alive(ctx context.Context) (bool, error) {
	pid, err := s.pid(ctx)
	return pid > 0, err
}

// pid returns the server's process id, or 0 if it is not running.
func (s *Server) pid(ctx context.Context) (int, error) {
	out, running, err := s.query(ctx, "display-message", "-p", "#{pid}")
	if err != nil || !running {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(out))
}

// Capture returns the text of a session's terminal, including the scrolled-off part.
// It joins lines that the terminal has wrapped, and removes trailing spaces and
// trailing empty lines.
func (s *Server) Capture(ctx context.Context, session string) (string, error) {
	// The colon at the end tells tmux that this is the name of a session, not of a pane.
	out, running, err := s.query(ctx, "capture-pane", "-p", "-J", "-S", "-", "-t", exactTarget(session)+":")
	switch {
	case err == nil && !running, stderrContains(err, "can't find"):
		return "", &NotFoundError{session}
	case err != nil:
		return "", err
	}
	return trimScreen(out), nil
}

func trimScreen(out string) string {
	lines := strings.Split(out, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	text := strings.TrimRight(strings.Join(lines, "\n"), "\n")
	if text == "" {
		return ""
	}
	return text + "\n"
}

// End ends a session. It returns nil if the session does not exist. The session's
// program receives only SIGHUP, and End does not wait for it.
func (s *Server) End(ctx context.Context, session string) error {
	_, _, err := s.query(ctx, "kill-session", "-t", exactTarget(session))
	if stderrContains(err, "can't find") {
		return nil
	}
	return err
}

// AttachCommand returns the command line that shows a session in the user's terminal.
// The keys of a read-only client do not reach the program.
func (s *Server) AttachCommand(session string, readOnly bool) []string {
	argv := append([]string{"tmux"}, s.flags()...)
	argv = append(argv, "attach-session", "-t", exactTarget(session))
	if readOnly {
		argv = append(argv, "-r")
	}
	return argv
}

// exactTarget returns a tmux target that matches only this session. Without the = sign, tmux would
// also accept sessions whose name begins with this name.
func exactTarget(session string) string { return "=" + session }

// flags returns the options that precede every tmux command. They name the socket, and keep tmux
// from reading a settings file.
func (s *Server) flags() []string { return []string{"-S", s.socket, "-f", os.DevNull} }

// Socket returns the path of the server's socket, which identifies the server.
func (s *Server) Socket() string { return s.socket }
