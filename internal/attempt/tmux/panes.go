package tmux

import (
	"context"
	"errors"
	"os"
	"strings"
	"syscall"
	"time"
)

// Pane is one terminal of a server.
type Pane struct {
	ID       string // such as %3
	Terminal string // its device
	Host     string // what it is called if nobody has said otherwise
	Title    string
}

// lookWithin is how long a server of somebody else may take to answer.
const lookWithin = 2 * time.Second

// Panes are those of any server of this user, which is asked and never changed.
// There are none if it does not run.
func Panes(ctx context.Context, socket string) ([]Pane, error) {
	s, err := theirs(socket)
	if err != nil {
		return nil, err
	}
	out, running, err := s.ask(ctx, "list-panes", "-a", "-F", "#{pane_id} #{pane_tty} #{host} #{pane_title}")
	if err != nil || !running {
		return nil, err
	}
	var list []Pane
	for line := range strings.Lines(out) {
		words := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 4)
		if len(words) == 4 {
			list = append(list, Pane{ID: words[0], Terminal: words[1], Host: words[2], Title: words[3]})
		}
	}
	return list, nil
}

// Screen is what a pane of any server of this user shows.
func Screen(ctx context.Context, socket, pane string) (string, error) {
	s, err := theirs(socket)
	if err != nil {
		return "", err
	}
	out, _, err := s.ask(ctx, "capture-pane", "-p", "-t", pane)
	return out, err
}

// theirs is a server whose socket this user owns.
func theirs(socket string) (*Server, error) {
	info, err := os.Stat(socket)
	if err != nil {
		return nil, err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if info.Mode()&os.ModeSocket == 0 || !ok || int(owner.Uid) != os.Geteuid() {
		return nil, &SocketError{socket, "is no socket of yours", ""}
	}
	return &Server{socket: socket, wait: lookWithin}, nil
}

// Silent tells whether err is that a server did not answer.
func Silent(err error) bool { return errors.As(err, new(*SilentError)) }
