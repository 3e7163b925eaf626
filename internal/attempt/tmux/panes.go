package tmux

import (
	"context"
	"errors"
	"os"
	"strings"
	"syscall"
	"time"
)

// Pane is one pane of a tmux server.
type Pane struct {
	ID       string // tmux's id of the pane, such as %3
	Terminal string // path of the pane's terminal device
	// Host is the machine's host name. It is the title of a pane until a program sets another
	// title.
	Host  string
	Title string
}

// userServerTimeout is how long the user's own tmux server may take to answer.
const userServerTimeout = 2 * time.Second

// Panes lists the panes of the tmux server on this socket, which may be the user's own server. It
// does not change the server. The list is empty if the server is not running.
func Panes(ctx context.Context, socket string) ([]Pane, error) {
	s, err := userServer(socket)
	if err != nil {
		return nil, err
	}
	out, running, err := s.query(ctx, "list-panes", "-a", "-F", "#{pane_id} #{pane_tty} #{host} #{pane_title}")
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

// Screen returns the visible text of a pane of the tmux server on this socket, which may be the
// user's own server. It returns "" if the server is not running.
func Screen(ctx context.Context, socket, pane string) (string, error) {
	s, err := userServer(socket)
	if err != nil {
		return "", err
	}
	out, _, err := s.query(ctx, "capture-pane", "-p", "-t", pane)
	return out, err
}

// userServer returns the server on a socket, after checking that this user owns the socket. The
// server may be one that the user has started, not gaffer.
func userServer(socket string) (*Server, error) {
	info, err := os.Stat(socket)
	if err != nil {
		return nil, err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if info.Mode()&os.ModeSocket == 0 || !ok || int(owner.Uid) != os.Geteuid() {
		return nil, &SocketError{socket, "is no socket of yours", ""}
	}
	return &Server{socket: socket, timeout: userServerTimeout}, nil
}

// IsTimeout reports whether err is a [*TimeoutError].
func IsTimeout(err error) bool { return errors.As(err, new(*TimeoutError)) }
