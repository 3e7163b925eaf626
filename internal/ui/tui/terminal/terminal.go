// Package terminal controls a real terminal: it switches raw mode on and off, and provides the
// terminal's size, the keys that the user presses, and a screen that writes only what has changed.
package terminal

import (
	"errors"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"gaffer/internal/text/display"
)

// Terminal is a real terminal that can be switched to raw mode and back.
type Terminal struct {
	in, out *os.File
	saved   unix.Termios
	mu      sync.Mutex
	raw     bool
}

// ErrNoTerminal is the error of [Open] if there is no terminal to draw on, or if this process is a
// background job of the terminal.
var ErrNoTerminal = errors.New("not a terminal in the foreground")

// Open returns the terminal that the streams are connected to. It does not change the terminal.
func Open(in io.Reader, out io.Writer) (*Terminal, error) {
	i, ok := in.(*os.File)
	o, also := out.(*os.File)
	if !ok || !also || !display.IsTerminal(i) || !display.IsTerminal(o) {
		return nil, ErrNoTerminal
	}
	saved, err := unix.IoctlGetTermios(int(i.Fd()), getTermios)
	if err != nil {
		return nil, ErrNoTerminal
	}
	t := &Terminal{in: i, out: o, saved: *saved}
	if w, h := t.Size(); w == 0 || h == 0 || !t.foreground() {
		return nil, ErrNoTerminal
	}
	return t, nil
}

// Columns returns the width of the terminal to which the stream out is connected, or 0 if out is
// not a terminal.
func Columns(out io.Writer) int {
	f, ok := out.(*os.File)
	if !ok || !display.IsTerminal(f) {
		return 0
	}
	columns, _ := (&Terminal{out: f}).Size()
	return columns
}

// foreground reports whether this process may use the terminal. It returns false if this process is
// a background job of the shell, because the kernel stops such a process when it uses the terminal.
// It returns true if the terminal is not the controlling terminal of this process, because then the
// kernel does not stop it.
func (t *Terminal) foreground() bool {
	group, err := unix.IoctlGetInt(int(t.in.Fd()), unix.TIOCGPGRP)
	return err != nil || group == unix.Getpgrp()
}

// Size returns the number of columns and rows. It returns 0, 0 if they are unknown.
func (t *Terminal) Size() (width, height int) {
	size, err := unix.IoctlGetWinsize(int(t.out.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0, 0
	}
	return int(size.Col), int(size.Row)
}

// Escape sequences that switch to the alternate screen and back. While the alternate screen is
// shown, the cursor is hidden and long lines are not wrapped.
const (
	enterScreen = "\x1b[?1049h\x1b[?25l\x1b[?7l" + EraseScreen
	LeaveScreen = "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l"
)

// Acquire switches the terminal to raw mode and to the alternate screen.
func (t *Terminal) Acquire() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	mode := t.saved
	mode.Lflag &^= unix.ICANON | unix.ECHO | unix.ISIG | unix.IEXTEN
	mode.Iflag &^= unix.IXON | unix.ICRNL | unix.INLCR
	// Let a read return after 0.2 s without input, so that the goroutine that reads can end.
	mode.Cc[unix.VMIN], mode.Cc[unix.VTIME] = 0, 2
	if err := unix.IoctlSetTermios(int(t.in.Fd()), setTermios, &mode); err != nil {
		return os.NewSyscallError("set the terminal's mode", err)
	}
	t.raw = true
	_, err := io.WriteString(t.out, enterScreen)
	return err
}

// Restore undoes Acquire. It may be called at any time, even more than once.
func (t *Terminal) Restore() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.raw {
		return
	}
	t.raw = false
	// Ignore the error: if the terminal is gone, it need not be restored.
	_, _ = io.WriteString(t.out, LeaveScreen)
	_ = unix.IoctlSetTermios(int(t.in.Fd()), setTermios, &t.saved)
}

// Keys calls visit for every key that the user presses, until the channel done is closed or the
// terminal is gone.
func (t *Terminal) Keys(done <-chan struct{}, visit func(Key)) {
	var buf [256]byte
	kept := 0
	for {
		select {
		case <-done:
			return
		default:
		}
		// Wait for input before reading: after [Terminal.Restore], a read would block until the
		// user has typed a whole line. If Poll fails, do not wait: the read below returns the
		// error.
		fds := []unix.PollFd{{Fd: int32(t.in.Fd()), Events: unix.POLLIN}}
		if n, err := unix.Poll(fds, 200); n <= 0 && (err == nil || errors.Is(err, unix.EINTR)) {
			continue
		}
		asked := time.Now()
		n, err := unix.Read(int(t.in.Fd()), buf[kept:])
		switch {
		case err == unix.EINTR, err == unix.EAGAIN, n == 0 && err == nil:
			// After a hangup of the terminal, every read returns at once, without input. Pause, to
			// avoid a busy loop.
			if time.Since(asked) < 100*time.Millisecond {
				select {
				case <-done:
				case <-time.After(100 * time.Millisecond):
				}
			}
			continue
		case err != nil:
			return
		}
		found, rest := DecodeKeys(buf[:kept+n])
		for _, key := range found {
			visit(key)
		}
		kept = copy(buf[:], rest)
	}
}
