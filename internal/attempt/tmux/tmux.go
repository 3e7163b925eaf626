// Package tmux keeps programs in terminals that a person can attach to. It
// drives the tmux program, on a server of gaffer's own: the user's sessions,
// settings and key bindings are never touched and never matter.
//
// A session is a place to look and nothing more. Whether its program has ended,
// and how, is not to be read from it: a server that is killed takes all of its
// sessions with it, and their programs only hear a hangup (SIGHUP).
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

// Server is a tmux server of gaffer's own, known by its socket. It runs while
// it has a session: the first Start begins it, and it ends with the last one.
type Server struct {
	socket string
	wait   time.Duration // for an answer
}

// answerWithin is how long a server may take to answer. A busy one needs
// milliseconds, and one that is stopped must not stop gaffer.
const answerWithin = 10 * time.Second

// New names the server on a socket. Nothing is started or made.
func New(socket string) *Server { return &Server{socket: socket, wait: answerWithin} }

// Session is one session of the server.
type Session struct {
	Name     string
	PID      int // of its program
	Attached int // how many terminals show it
	Created  time.Time
}

// List returns the sessions by name. A server that does not run has none.
func (s *Server) List(ctx context.Context) ([]Session, error) {
	const format = "#{session_created} #{session_attached} #{pane_pid} #{session_name}"
	out, running, err := s.ask(ctx, "list-sessions", "-F", format)
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

// Has tells whether there is a session of exactly this name.
func (s *Server) Has(ctx context.Context, session string) (bool, error) {
	list, err := s.List(ctx)
	return slices.ContainsFunc(list, func(one Session) bool { return one.Name == session }), err
}

// Alive tells whether the server runs.
func (s *Server) Alive(ctx context.Context) (bool, error) {
	pid, err := s.pid(ctx)
	return pid > 0, err
}

// pid is the server's process, 0 if it does not run.
func (s *Server) pid(ctx context.Context) (int, error) {
	out, running, err := s.ask(ctx, "display-message", "-p", "#{pid}")
	if err != nil || !running {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(out))
}

// Capture returns the text in a session's terminal, what has scrolled away
// included. Lines that the terminal has wrapped are whole again; the spaces at
// their ends and the empty lines below the text are left out.
func (s *Server) Capture(ctx context.Context, session string) (string, error) {
	// The colon makes it the pane of the session and not a pane of that name.
	out, running, err := s.ask(ctx, "capture-pane", "-p", "-J", "-S", "-", "-t", exactly(session)+":")
	switch {
	case err == nil && !running, says(err, "can't find"):
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

// End ends a session; one that is not there has ended already. Its program gets
// a hangup (SIGHUP) and nothing worse, and is not waited for.
func (s *Server) End(ctx context.Context, session string) error {
	_, _, err := s.ask(ctx, "kill-session", "-t", exactly(session))
	if says(err, "can't find") {
		return nil
	}
	return err
}

// AttachCommand is what shows a session in a person's terminal. One that is read
// only can look, scroll and detach; keys do not reach the program.
func (s *Server) AttachCommand(session string, readOnly bool) []string {
	argv := append([]string{"tmux"}, s.flags()...)
	argv = append(argv, "attach-session", "-t", exactly(session))
	if readOnly {
		argv = append(argv, "-r")
	}
	return argv
}

// exactly is the target that is this session or none. Without the sign, tmux
// takes the beginning of a name for the name.
func exactly(session string) string { return "=" + session }

// flags come before every command. No settings file is read.
func (s *Server) flags() []string { return []string{"-S", s.socket, "-f", os.DevNull} }
