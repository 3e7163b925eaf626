package secret

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

const (
	// maxValue is the maximum length of a variable's value, in bytes. Operating systems accept
	// environment variables of at least this length.
	maxValue = 64 << 10
	// commandTimeout is how long a program may take to print the value of a variable. The program
	// may have to query a server, or ask the user for a passphrase.
	commandTimeout = time.Minute
)

// Resolver resolves references to secrets. It reads each value from the place on this machine to
// which the reference refers: an environment variable, a file, or the output of a program.
type Resolver struct {
	// Environ is the environment in which variables are looked up. It is also the environment of
	// the programs that the Resolver runs, so it must not contain gaffer's own credentials.
	Environ []string
	Dir     string // working directory of the programs that the Resolver runs to get secrets
	// Find returns the path of a program. If it is nil, [exec.LookPath] is used.
	Find func(program string, environ []string) (string, error)
	// NoCommands is an error that says why programs must not be run. It is nil if they may be run.
	NoCommands error
}

// Error reports that the value of a variable could not be resolved. The error message never
// contains that value.
type Error struct {
	Variable string
	Value    Value
	Err      error
	hint     string
}

func (e *Error) Error() string {
	return fmt.Sprintf("the environment variable %s (%s): %v", e.Variable, e.Value, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// Hint returns advice for the user.
func (e *Error) Hint() string { return e.hint }

// Resolve returns a text NAME=value for each variable in vars. If a value is a reference, Resolve
// reads the text from its source, for example a file. If that fails, Resolve returns the first
// error.
func (r Resolver) Resolve(ctx context.Context, vars map[string]Value) (environ []string, err error) {
	for _, name := range sortedNames(vars) {
		v := vars[name]
		text := v.Text
		switch v.From {
		case "":
		case Env:
			text, err = r.variable(name, v)
		case File:
			text, err = r.file(v)
		case Command:
			text, err = r.command(ctx, v)
		default: // cannot happen: [Value.Check] rejects a hidden value or unknown source when the plan is read
			err = v.Check()
		}
		switch {
		case err != nil:
		case v.IsReference() && text == "":
			err = errors.New("it is empty")
		case strings.ContainsRune(text, 0):
			err = errors.New("it has a zero byte in it, which no environment can hold")
		}
		if err != nil {
			return nil, r.failed(name, v, err)
		}
		environ = append(environ, name+"="+text)
	}
	return environ, nil
}

// Missing returns an error for each reference that cannot be resolved on this machine. It runs no
// programs; it only checks that they exist.
func (r Resolver) Missing(vars map[string]Value) (errs []*Error) {
	for _, name := range sortedNames(vars) {
		v := vars[name]
		var text string
		var err error
		switch v.From {
		case Env:
			text, err = r.variable(name, v)
		case File:
			text, err = r.file(v)
		case Command:
			text, err = r.find(v)
		default:
			continue
		}
		if err == nil && text == "" {
			err = errors.New("it is empty")
		}
		if err != nil {
			errs = append(errs, r.failed(name, v, err))
		}
	}
	return errs
}

func (r Resolver) failed(name string, v Value, err error) *Error {
	e := &Error{Variable: name, Value: v, Err: err}
	switch {
	case errors.Is(err, r.NoCommands):
		e.hint = "use from: env or from: file"
	case v.From == Env:
		e.hint = fmt.Sprintf("set %s where gaffer runs the agent, then retry", nameOf(name, v))
	case v.From == File:
		e.hint = "write the file on the machine that runs the agent, then retry"
	case errors.Is(err, fs.ErrNotExist):
		e.hint = "install it on the machine that runs the agent, then retry"
	case v.From == Command:
		e.hint = "run the command yourself, on the machine that runs the agent, to see why; then retry"
	}
	return e
}

func nameOf(variable string, v Value) string {
	if v.Name != "" {
		return v.Name
	}
	return variable
}

func (r Resolver) variable(name string, v Value) (string, error) {
	text, ok := lookUp(r.Environ, nameOf(name, v))
	if !ok {
		return "", errors.New("it is not set")
	}
	return text, nil
}

// lookUp returns the value of the variable with the given name in environ. If environ contains the
// variable several times, the last value counts.
func lookUp(environ []string, name string) (string, bool) {
	for _, v := range slices.Backward(environ) {
		if text, ok := strings.CutPrefix(v, name+"="); ok {
			return text, true
		}
	}
	return "", false
}

// file reads a value from a regular file. It returns an error for other kinds of files, because
// reading them could block.
func (r Resolver) file(v Value) (string, error) {
	path := v.Path
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		home, _ := lookUp(r.Environ, "HOME")
		if home == "" {
			return "", errors.New("HOME is not set")
		}
		path = filepath.Join(home, rest)
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", withoutPath(err)
	}
	defer func() { _ = f.Close() }() // the file was only read, so an error of Close does not matter
	info, err := f.Stat()
	if err != nil {
		return "", withoutPath(err)
	}
	if !info.Mode().IsRegular() {
		return "", errors.New("it is not a regular file")
	}
	data, err := io.ReadAll(io.LimitReader(f, maxValue+1))
	if err != nil {
		return "", withoutPath(err)
	}
	return trimValue(data)
}

// withoutPath removes the path of the file from an error, because the final error message already
// contains it.
func withoutPath(err error) error {
	if e := (*fs.PathError)(nil); errors.As(err, &e) {
		return e.Err
	}
	return err
}

// trimValue removes all line ends (LF and CR) from the end of a value. It returns an error if the
// value is too long.
func trimValue(data []byte) (string, error) {
	if len(data) > maxValue {
		return "", fmt.Errorf("it has more than %d bytes", maxValue)
	}
	return strings.TrimRight(string(data), "\r\n"), nil
}

func (r Resolver) find(v Value) (string, error) {
	if r.NoCommands != nil {
		return "", r.NoCommands
	}
	program := v.Argv[0]
	if strings.Contains(program, "/") {
		if !filepath.IsAbs(program) {
			program = filepath.Join(r.Dir, program)
		}
		_, err := os.Stat(program)
		return program, withoutPath(err)
	}
	find := r.Find
	if find == nil {
		find = func(program string, _ []string) (string, error) { return exec.LookPath(program) }
	}
	path, err := find(program, r.Environ)
	if err != nil {
		return "", notInPath(program)
	}
	return path, nil
}

// notInPath is the error for a program that no folder in PATH contains. It holds the program's
// name.
type notInPath string

func (e notInPath) Error() string { return fmt.Sprintf("the program %s is not in PATH", string(e)) }

func (notInPath) Is(target error) bool { return target == fs.ErrNotExist }

// command runs a program and returns what it prints. It discards stderr, because stderr may contain
// the secret.
func (r Resolver) command(ctx context.Context, v Value) (string, error) {
	path, err := r.find(v)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, v.Argv[1:]...)
	cmd.Dir, cmd.Env = r.Dir, r.Environ
	out := limitedBuffer{}
	cmd.Stdout = &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	err = cmd.Run()
	exit := (*exec.ExitError)(nil)
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return "", fmt.Errorf("it did not end within %s", commandTimeout)
	case errors.As(err, &exit):
		return "", fmt.Errorf("it ended with %s", exit.ProcessState)
	case err != nil:
		return "", withoutPath(err)
	}
	return trimValue(out.Bytes())
}

// limitedBuffer keeps at most maxValue+1 bytes, which is enough to detect a value that is too long.
// It discards further bytes without an error, so that the program does not fail.
type limitedBuffer struct{ bytes.Buffer }

func (l *limitedBuffer) Write(data []byte) (int, error) {
	if room := maxValue + 1 - l.Len(); room > 0 {
		l.Buffer.Write(data[:min(room, len(data))])
	}
	return len(data), nil
}
