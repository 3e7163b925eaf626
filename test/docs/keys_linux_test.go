package docs

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestMain runs the program keys instead of the tests if the binary is started by that name.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "keys" {
		os.Exit(keys(os.Args[1], os.Args[2:]))
	}
	os.Exit(m.Run())
}

// keys runs a command in a terminal of 100 columns. It types the text when the command has printed
// something and then paused. It types the text again every few seconds, because a program that sets
// up its terminal may discard earlier input. It prints the terminal's output and returns the
// command's exit code.
func keys(text string, argv []string) int {
	terminal, other, err := openTerminal()
	if err != nil {
		fmt.Fprintln(os.Stderr, "keys:", err)
		return 1
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = other, other, other
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "keys:", err)
		return 1
	}
	_ = other.Close() // ignore the error: the command has a separate descriptor of the terminal

	printed, typed := make(chan []byte), false
	go func() {
		defer close(printed)
		for {
			part := make([]byte, 4096)
			n, err := terminal.Read(part)
			if err != nil {
				return // the command has ended
			}
			printed <- part[:n]
		}
	}()
	var shown bytes.Buffer
	var next <-chan time.Time
	for open := true; open; {
		select {
		case part, ok := <-printed:
			shown.Write(part)
			open = ok
			if !typed {
				next = time.After(200 * time.Millisecond)
			}
		case <-next:
			_, _ = terminal.WriteString(text) // ignore the error: the command may have ended
			typed, next = true, time.After(3*time.Second)
		}
	}
	err = cmd.Wait()
	_, _ = os.Stdout.Write(bytes.ReplaceAll(shown.Bytes(), []byte("\r\n"), []byte("\n"))) // ignore the error: the output only helps to explain a failure
	if _, failed := errors.AsType[*exec.ExitError](err); err != nil && !failed {
		fmt.Fprintln(os.Stderr, "keys:", err)
		return 1
	}
	return cmd.ProcessState.ExitCode()
}

// openTerminal returns both sides of a new pseudo-terminal.
func openTerminal() (*os.File, *os.File, error) {
	main, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, err
	}
	fd := int(main.Fd())
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 30, Col: 100})
	}
	if err != nil {
		return nil, nil, err
	}
	other, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	return main, other, err
}
