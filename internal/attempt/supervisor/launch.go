package supervisor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// launch starts the agent in its own session and process group. The log file becomes the agent's
// stdout and stderr, so output does not pass through the supervisor. The agent does not share the
// supervisor's session. If it did, and the supervisor were killed, the kernel could resume stopped
// processes of that session, for example a frozen agent.
//
// If group is not nil, the agent is in that control group from its first instruction.
func launch(s Spec, env []string, stdin, log uintptr, group *cgroup) (pid int, err error) {
	if info, err := os.Stat(s.Dir); err != nil {
		return 0, fmt.Errorf("folder to run in: %w", err)
	} else if !info.IsDir() {
		return 0, fmt.Errorf("folder to run in: %s is not a folder", s.Dir)
	}
	program, err := FindProgram(s.Argv[0], env)
	if err != nil {
		return 0, err
	}
	fork := func(attr *syscall.SysProcAttr) (int, error) {
		return syscall.ForkExec(program, s.Argv, &syscall.ProcAttr{
			Dir:   s.Dir,
			Env:   withMark(env, s.Attempt),
			Files: []uintptr{stdin, log, log},
			Sys:   attr,
		})
	}
	if attr := (syscall.SysProcAttr{Setsid: true}); group == nil {
		pid, err = fork(&attr)
	} else {
		pid, err = group.startInside(attr, fork)
	}
	if err != nil {
		return 0, &fs.PathError{Op: "run", Path: program, Err: err}
	}
	return pid, nil
}

func withMark(env []string, attempt string) []string {
	env = slices.DeleteFunc(slices.Clone(env), func(v string) bool { return strings.HasPrefix(v, Mark+"=") })
	return append(env, Mark+"="+attempt)
}

// FindProgram returns the path of a program. If the name contains a slash, FindProgram returns it
// unchanged, because the kernel resolves a relative path from the folder in which the program runs.
// Otherwise it searches the absolute folders in the PATH of env, and skips relative ones.
func FindProgram(name string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	path := ""
	for _, v := range env {
		if value, ok := strings.CutPrefix(v, "PATH="); ok {
			path = value
		}
	}
	for _, dir := range filepath.SplitList(path) {
		file := filepath.Join(dir, name)
		if filepath.IsAbs(dir) && isProgram(file) {
			return file, nil
		}
	}
	return "", fmt.Errorf("%s: no such program in PATH (%s)", name, path)
}

func isProgram(file string) bool {
	info, err := os.Stat(file)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// openLog opens the log file for appending, and creates it if it is missing. It also returns the
// size of the file. It fails if name is a symbolic link or not a regular file.
func openLog(name string) (*os.File, int64, error) {
	// Without O_NONBLOCK, opening would hang if the file is a named pipe that no process reads.
	fd, err := syscall.Open(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE|syscall.O_NONBLOCK|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, 0o666)
	if err != nil {
		return nil, 0, fmt.Errorf("log: %w", &fs.PathError{Op: "open", Path: name, Err: err})
	}
	if err := syscall.SetNonblock(fd, false); err != nil {
		return nil, 0, fmt.Errorf("log: %w", err)
	}
	log := os.NewFile(uintptr(fd), name)
	info, err := log.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New(name + " is not a file")
	}
	if err != nil {
		_ = log.Close() // ignore the error: nothing was written to the log
		return nil, 0, fmt.Errorf("log: %w", err)
	}
	return log, info.Size(), nil
}
