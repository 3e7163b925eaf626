package tmux

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// Size is the size of a terminal in characters.
type Size struct {
	Columns int `json:"columns"`
	Rows    int `json:"rows"`
}

// Client is a tmux client that shows one session on a pseudo-terminal, for a program that has no
// terminal of its own. A Client has tmux's flag ignore-size: while a client without this flag is
// attached, such as a user's terminal, a Client does not influence the size of the session's
// window.
//
// tmux interprets what the program in the session prints, and draws the result. So the output of a
// Client contains only escape sequences that tmux itself uses. If nothing reads the output, tmux
// drops it and draws the whole screen later, so unread output does not accumulate.
type Client struct {
	terminal *os.File
	process  *exec.Cmd
	exited   chan struct{} // closed when the client's process has exited
	filter   stopFilter
	closing  sync.Once
}

// clientTerminal is the terminal type (TERM) for which tmux writes the output of a Client.
const clientTerminal = "xterm-256color"

// AttachClient attaches a new client to a session. If readOnly is true, the keys of the client do
// not reach the session's program. If the tmux server is not running, AttachClient returns a
// [*NotFoundError]. If the server is running but the session does not exist, the client's output
// ends at once.
func (s *Server) AttachClient(ctx context.Context, session string, readOnly bool, size Size) (*Client, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	// Apply gaffer's tmux settings again: another version of gaffer, with other settings, may have
	// started the server.
	if _, err := s.run(ctx, locale(), settings, "source-file", "-"); err != nil {
		if noServer(err) {
			return nil, &NotFoundError{session}
		}
		return nil, err
	}
	program, err := find()
	if err != nil {
		return nil, err
	}
	flags := "ignore-size"
	if readOnly {
		flags += ",read-only"
	}
	args := slices.Concat([]string{"-u"}, s.flags(), []string{"attach-session", "-t", exactTarget(session), "-f", flags})
	c := &Client{process: exec.Command(program, args...), exited: make(chan struct{})}
	c.process.Dir, c.process.Env = "/", append(locale(), "TERM="+clientTerminal)
	if err := c.start(size); err != nil {
		return nil, fmt.Errorf("attach to session %s: %w", session, err)
	}
	return c, nil
}

func (c *Client) start(size Size) error {
	ours, theirs, err := pty.Open()
	if err != nil {
		return err
	}
	defer theirs.Close()
	// pty.Open leaves the file in blocking mode, in which Close would not end a pending Read.
	fd, err := unix.FcntlInt(ours.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err := errors.Join(err, ours.Close()); err != nil {
		return err
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		return errors.Join(err, unix.Close(fd))
	}
	c.terminal = os.NewFile(uintptr(fd), ours.Name())
	c.process.Stdin, c.process.Stdout, c.process.Stderr = theirs, theirs, theirs
	c.process.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	err = c.Resize(size)
	if err == nil {
		err = c.process.Start()
	}
	if err != nil {
		return errors.Join(err, c.terminal.Close())
	}
	go func() { // ends when the process exits, which Close ensures
		defer close(c.exited)
		_ = c.process.Wait() // ignore the error: how a client exits does not matter
	}()
	return nil
}

// Resize changes the size of the client's terminal.
func (c *Client) Resize(size Size) error {
	raw, err := c.terminal.SyscallConn()
	if err != nil {
		return err
	}
	window := &unix.Winsize{Col: uint16(size.Columns), Row: uint16(size.Rows)}
	var failed error
	err = raw.Control(func(fd uintptr) { failed = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, window) })
	return errors.Join(err, failed)
}

// Read reads the client's output. It returns io.EOF when the client is detached, by the user or
// because the session has ended. When a client is detached, tmux prints a sequence that restores
// the terminal. Read leaves out that sequence, because it would clear the screen.
func (c *Client) Read(p []byte) (int, error) {
	for {
		n, err := c.terminal.Read(p)
		if n = c.filter.keep(p[:n]); n > 0 {
			return n, nil
		}
		// Replace any error by io.EOF: after the client has ended, the error depends on the system.
		if c.filter.stopped || err != nil {
			return 0, io.EOF
		}
	}
}

// Write sends keys to the session. tmux ignores them if the client is read-only.
func (c *Client) Write(keys []byte) (int, error) { return c.terminal.Write(keys) }

// clientExit is how long a client's process may take to exit after its terminal was closed.
const clientExit = 2 * time.Second

// Close detaches the client. The session continues.
func (c *Client) Close() {
	c.closing.Do(func() {
		_ = c.terminal.Close() // the client gets SIGHUP
		select {
		case <-c.exited:
		case <-time.After(clientExit): // the client hangs, for example because its server hangs
			_ = c.process.Process.Kill()
			<-c.exited
		}
	})
}

// stopSequence is the sequence with which tmux begins to restore a terminal of type clientTerminal
// when a client is detached. tmux uses it at no other time.
const stopSequence = "\x1b[?1l\x1b>"

// stopFilter removes stopSequence and everything after it from the output of a client.
type stopFilter struct {
	matched int // length of an incomplete stopSequence at the end of the output so far
	stopped bool
}

// keep returns how many bytes at the start of a chunk of output the caller may pass on. If the
// chunk ends in the middle of stopSequence, the first part of stopSequence may be passed on too,
// because that part alone does not change the screen.
func (f *stopFilter) keep(chunk []byte) int {
	if f.stopped {
		return 0
	}
	for i, b := range chunk {
		for f.matched > 0 && b != stopSequence[f.matched] {
			if f.matched == strings.LastIndexByte(stopSequence, stopSequence[0])+1 {
				f.matched = 1 // the last byte that matched may begin stopSequence again
			} else {
				f.matched = 0
			}
		}
		if b == stopSequence[f.matched] {
			f.matched++
		}
		if f.matched == len(stopSequence) {
			f.stopped = true
			return max(0, i+1-len(stopSequence))
		}
	}
	return len(chunk)
}

// Window returns the size that a client's terminal needs to show the whole window of a session. The
// size includes tmux's status line. shared reports whether a tmux client without the flag
// ignore-size, such as a user's terminal, is attached to the server. If so, tmux does not use the
// size of any [Client]. Window returns a [*NotFoundError] if no tmux client is attached to the
// session.
func (s *Server) Window(ctx context.Context, session string) (size Size, shared bool, err error) {
	const format = "#{window_width} #{window_height} #{client_flags} #{session_name}"
	out, running, err := s.query(ctx, "list-clients", "-F", format)
	if err != nil {
		return Size{}, false, err
	}
	found := false
	for line := range strings.Lines(out) {
		words := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 4)
		if len(words) != 4 {
			return Size{}, false, fmt.Errorf("tmux list-clients on %s: cannot read the line %q", s.socket, line)
		}
		if !slices.Contains(strings.Split(words[2], ","), "ignore-size") {
			shared = true
		}
		if words[3] != session {
			continue
		}
		columns, err1 := strconv.Atoi(words[0])
		rows, err2 := strconv.Atoi(words[1])
		if err := errors.Join(err1, err2); err != nil {
			return Size{}, false, fmt.Errorf("tmux list-clients on %s: cannot read the line %q: %w", s.socket, line, err)
		}
		found, size = true, Size{columns, rows + 1}
	}
	if !running || !found {
		return Size{}, shared, &NotFoundError{session}
	}
	return size, shared, nil
}
