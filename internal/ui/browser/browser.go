// Package browser opens pages in the browser of the person at this machine.
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

// ErrNone is that nothing says how a page could be opened here.
var ErrNone = errors.New("no browser is known here: BROWSER is not set, and there is no display")

// grace is how long a program that opens pages may take to fail. One that is the
// browser itself does not end.
const grace = 2 * time.Second

// Open opens a page, and returns when the program that does so has succeeded or
// seems to.
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

// programs are the command lines that could open a page, the best first: those of
// BROWSER, which may be several with colons between them and have %s in the
// address's place, then the system's. The system's are not tried where nobody
// could see the page, since some of them then show it in the terminal.
func programs(getenv func(string) string, system, url string) (list [][]string) {
	for _, line := range strings.Split(getenv("BROWSER"), ":") {
		if argv := strings.Fields(line); len(argv) > 0 {
			list = append(list, fill(argv, url))
		}
	}
	switch {
	case system == "darwin" && getenv("SSH_CONNECTION") == "":
		list = append(list, []string{"open", url})
	case system != "darwin" && (getenv("DISPLAY") != "" || getenv("WAYLAND_DISPLAY") != ""):
		list = append(list, []string{"xdg-open", url})
	}
	return list
}

func fill(argv []string, url string) []string {
	filled, found := make([]string, len(argv)), false
	for i, arg := range argv {
		found = found || strings.Contains(arg, "%s")
		filled[i] = strings.ReplaceAll(arg, "%s", url)
	}
	if !found {
		filled = append(filled, url)
	}
	return filled
}

// start runs a program in a session of its own: what the person types here is not
// for it, and Ctrl-C does not end it.
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
			return verdict(status)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return cmd.Process.Release()
		}
	}
}

// ended looks whether a child has ended, without waiting for it.
func ended(pid int) (status syscall.WaitStatus, over bool) {
	got, err := syscall.Wait4(pid, &status, syscall.WNOHANG, nil)
	return status, err == nil && got == pid
}

func verdict(status syscall.WaitStatus) error {
	switch {
	case status.Signaled():
		return fmt.Errorf("ended by signal %d", status.Signal())
	case status.ExitStatus() != 0:
		return fmt.Errorf("exit code %d", status.ExitStatus())
	}
	return nil
}
