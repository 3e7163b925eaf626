// Package browser opens pages in the user's web browser.
package browser

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// ErrNone is the error of [Open] if it knows no program that could open the page, so that the user
// has to open the page by its address.
var ErrNone = errors.New("no browser is known here: BROWSER is not set, and there is no display")

// grace is how long [start] waits for a program to fail. A program that is still running after this
// time counts as successful, because it may be the browser itself.
const grace = 2 * time.Second

// Open opens a page in the browser. It tries each known program in order, until one exits with
// success or is still running after two seconds.
func Open(ctx context.Context, getenv func(string) string, url string) error {
	var problems []error
	for _, argv := range programs(getenv, runtime.GOOS, url) {
		err := start(ctx, argv)
		if err == nil {
			return nil
		}
		problems = append(problems, fmt.Errorf("%s: %w", argv[0], err))
	}
	if len(problems) == 0 {
		return ErrNone
	}
	return errors.Join(problems...)
}

// programs returns the command lines that could open a page, in the order in which to try them.
// First come the commands in the environment variable BROWSER, which are separated by colons; %s in
// a command is replaced by the address of the page. Then comes the program of the system: open on
// macOS, xdg-open on other systems. xdg-open is left out without a display, because it might start
// a text browser in the terminal. open is left out in an SSH session.
func programs(getenv func(string) string, system, url string) (list [][]string) {
	for _, line := range strings.Split(getenv("BROWSER"), ":") {
		argv := strings.Fields(line)
		if len(argv) == 0 {
			continue
		}
		if !strings.Contains(line, "%s") {
			argv = append(argv, "%s")
		}
		for i := range argv {
			argv[i] = strings.ReplaceAll(argv[i], "%s", url)
		}
		list = append(list, argv)
	}
	switch {
	case system == "darwin" && getenv("SSH_CONNECTION") == "":
		list = append(list, []string{"open", url})
	case system != "darwin" && (getenv("DISPLAY") != "" || getenv("WAYLAND_DISPLAY") != ""):
		list = append(list, []string{"xdg-open", url})
	}
	return list
}

// start starts a program in a new session (setsid), so that the program cannot read the user's
// keystrokes and Ctrl-C does not end it. It returns nil if the program exits with success. It also
// returns nil if the program is still running after the time [grace], or when ctx ends.
func start(ctx context.Context, argv []string) error {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if status, over := ended(cmd.Process.Pid); over {
			switch {
			case status.Signaled():
				return fmt.Errorf("ended by signal %d", status.Signal())
			case status.ExitStatus() != 0:
				return fmt.Errorf("exit code %d", status.ExitStatus())
			}
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return cmd.Process.Release()
		}
	}
}

// ended reports whether a child process has ended and, if it has, returns its status and reaps it.
// It does not wait for the process.
func ended(pid int) (status syscall.WaitStatus, over bool) {
	got, err := syscall.Wait4(pid, &status, syscall.WNOHANG, nil)
	return status, err == nil && got == pid
}
