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

// withPager calls show with the input of the user's pager, or with stdout if it is not a
// terminal. The pager is the program of PAGER, or less.
func withPager(e *env.Env, off bool, show func(out io.Writer) error) error {
	terminal, ok := e.Out.(*os.File)
	program := cmp.Or(e.Getenv("PAGER"), "less")
	if off || !ok || !display.IsTerminal(e.Out) || program == "cat" || e.Getenv("TERM") == "dumb" {
		return show(e.Out)
	}
	if _, err := exec.LookPath("less"); err != nil && program == "less" {
		return show(e.Out)
	}
	cmd := exec.Command("sh", "-c", program) // PAGER may contain arguments; it is trusted, because the user set it
	cmd.Stdout, cmd.Stderr, cmd.Env = terminal, os.Stderr, os.Environ()
	if e.Getenv("LESS") == "" {
		cmd.Env = append(cmd.Env, "LESS=FRX") // show colours; exit at once if the text fits the screen
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return show(e.Out)
	}
	err = show(in)
	if errors.Is(err, syscall.EPIPE) { // the user has left the pager
		err = nil
	}
	// less survives an interrupt, so wait until the user leaves it.
	_ = in.Close()
	if ended := cmd.Wait(); err == nil && exitCode(ended) == notFound {
		err = errors.New("the program of PAGER was not found: " + display.Printable(program))
	}
	return err
}

// notFound is the exit code of a shell that does not find the program.
const notFound = 127

func exitCode(err error) int {
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
		return failed.ExitCode()
	}
	return 0
}
