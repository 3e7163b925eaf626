package diff

import (
	"cmp"
	"errors"
	"io"
	"os"
	"os/exec"
	"syscall"

	"gaffer/internal/cli/env"
	"gaffer/internal/text/display"
)

// withPager starts a pager, calls show to write to the pager's stdin, and waits until the user
// closes the pager. The pager is the command in the environment variable PAGER or, by default,
// less.
//
// In these cases there is no pager, and show writes to stdout: off is true, stdout is no terminal,
// TERM is dumb, PAGER is cat, or the pager is less and less is not installed.
func withPager(e *env.Env, off bool, show func(out io.Writer) error) error {
	terminal, ok := e.Out.(*os.File)
	program := cmp.Or(e.Getenv("PAGER"), "less")
	if off || !ok || !display.IsTerminal(e.Out) || program == "cat" || e.Getenv("TERM") == "dumb" {
		return show(e.Out)
	}
	if _, err := exec.LookPath("less"); err != nil && program == "less" {
		return show(e.Out)
	}
	// Run the pager in a shell, because PAGER may contain arguments. The user's PAGER is trusted.
	cmd := exec.Command("sh", "-c", program)
	cmd.Stdout, cmd.Stderr, cmd.Env = terminal, os.Stderr, os.Environ()
	if e.Getenv("LESS") == "" {
		// F: exit at once if the text fits the screen. R: show colours. X: do not clear the screen.
		cmd.Env = append(cmd.Env, "LESS=FRX")
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return show(e.Out)
	}
	err = show(in)
	if errors.Is(err, syscall.EPIPE) { // the user has closed the pager early
		err = nil
	}
	// Wait for the pager even if the user has pressed Ctrl-C, because Ctrl-C does not end less.
	_ = in.Close()
	if ended := cmd.Wait(); err == nil && exitCode(ended) == notFound {
		err = errors.New("the program of PAGER was not found: " + display.Printable(program))
	}
	return err
}

// notFound is the exit code of a shell that cannot find the command.
const notFound = 127

func exitCode(err error) int {
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
		return failed.ExitCode()
	}
	return 0
}
