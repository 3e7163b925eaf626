package tmux

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
)

// check returns an error if the path of the socket is not absolute, or is longer than
// the system allows.
func (s *Server) check() error {
	limit := len(syscall.RawSockaddrUnix{}.Path) - 1
	switch {
	case !filepath.IsAbs(s.socket):
		return &SocketError{s.socket, "is not an absolute path", "give the whole path of the socket"}
	case len(s.socket) > limit:
		return &SocketError{
			s.socket, fmt.Sprintf("has %d bytes, more than the %d that the path of a socket may have", len(s.socket), limit),
			"use a shorter path",
		}
	}
	return nil
}

// makeFolder creates the folder of the socket. It fails if other users can enter the
// folder, because anyone who can connect to the socket can run programs as this user.
func (s *Server) makeFolder() error {
	dir := filepath.Dir(s.socket)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return &SocketError{s.socket, "has no folder: " + err.Error(), ""}
	}
	info, err := os.Stat(dir)
	if err != nil {
		return &SocketError{s.socket, "has no folder: " + err.Error(), ""}
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case ok && int(owner.Uid) != os.Geteuid():
		return &SocketError{s.socket, fmt.Sprintf("is in a folder of another user (uid %d)", owner.Uid), "use a folder of your own"}
	case info.Mode().Perm()&0o077 != 0:
		return &SocketError{
			s.socket, fmt.Sprintf("is in a folder that others may enter (mode %04o)", info.Mode().Perm()), "chmod 700 " + dir,
		}
	}
	return nil
}

// listening reports whether a server is running, even if it does not answer commands. It connects
// to the socket instead of running tmux, because tmux has many different error messages for a
// missing server.
func (s *Server) listening() bool {
	conn, err := net.DialTimeout("unix", s.socket, s.timeout)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ECONNREFUSED)
	}
	_ = conn.Close() // ignore the error: nothing was sent
	return true
}
