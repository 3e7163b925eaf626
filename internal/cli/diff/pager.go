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

// withPager calls show with the stdin of a pager, and waits until the user closes the pager. The
// pager is the command in PAGER, or less. withPager calls show with stdout if off is true, stdout
// is not a terminal or a dumb one, PAGER is cat, or less is not installed.
func withPager(e *env.Env, off bool, show func(out io.Writer) error) error {
	terminal, ok := e.Out.(*os.File)
	program := cmp.Or(e.Getenv("PAGER"), "less")
	if off || !ok || !display.IsTerminal(e.Out) || program == "cat" || e.Getenv("TERM") == "dumb" {
		return show(e.Out)
	}
	if _, err := exec.LookPath("less"); err != nil && program == "less" {
		return show(e.Out)
	}
	cmd := exec.Command("sh", "-c", program) // PAGER may contain arguments; the user set it, so it is trusted
	cmd.Stdout, cmd.Stderr, cmd.Env = terminal, os.Stderr, os.Environ()
	if e.Getenv("LESS") == "" {
		cmd.Env = append(cmd.Env, "LESS=FRX") // F: exit at once if the text fits the screen; R: show colours; X: leave the text on the screen
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return show(e.Out)
	}
	err = show(in)
	if errors.Is(err, syscall.EPIPE) { // the user has closed the pager
		err = nil
	}
	// Wait even if the user has interrupted the command: less keeps running after an interrupt.
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
