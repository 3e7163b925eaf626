// Package forge runs gh and glab, the command-line programs of GitHub and GitLab. The user must
// have installed them and logged in with them.
package forge

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"gaffer/internal/text/truncate"
)

// The names of the programs.
const (
	GitHub = "gh"
	GitLab = "glab"
)

// Error reports that a program is not installed or has failed.
type Error struct{ Program, Problem, Advice string }

func (e *Error) Error() string { return e.Program + ": " + e.Problem }

// Conflict returns true, so that commands exit with code 4 and the server answers with status 409.
func (e *Error) Conflict() bool { return true }

// Hint returns advice for the user.
func (e *Error) Hint() string { return e.Advice }

// Program is a command-line program, with the folder and the environment in which it runs.
type Program struct {
	Name string
	Dir  string
	Env  []string // environment; nil means that of this process
	// EndsWithParent means that the program is killed when this process dies. It has an effect only
	// on Linux. A program that outlives this process could still post a comment on GitHub or
	// GitLab, and the next gaffer process could post the same comment again.
	EndsWithParent bool
	Timeout        time.Duration // time limit for one call; 0 means two minutes
}

// CheckInstalled returns an [*Error] if the program is not installed. advice says what the user can
// do.
func (p *Program) CheckInstalled(advice string) error {
	if _, err := exec.LookPath(p.Name); err != nil {
		return &Error{p.Name, "the program is not installed", advice}
	}
	return nil
}

const (
	// defaultTimeout is the time limit for one call of a [Program] whose Timeout is 0.
	defaultTimeout = 2 * time.Minute
	// endGrace is how long a program's output may stay open after the program has exited or was
	// killed, for example because a child process still holds it open.
	endGrace = 5 * time.Second
	// maxOutput is the maximum number of bytes that a program may print to each of stdout and
	// stderr.
	maxOutput = 64 << 20
)

// Run runs the program with this input and returns what it prints, without space at both ends. If
// the program exits with an error code, the error is an [*Error] with the program's message.
func (p *Program) Run(ctx context.Context, input string, args ...string) (string, error) {
	timeout := cmp.Or(p.Timeout, defaultTimeout)
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	cmd := exec.CommandContext(limited, p.Name, args...)
	var out, said limitedBuffer
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = p.Dir, p.Env, strings.NewReader(input), &out, &said
	cmd.WaitDelay = endGrace
	if p.EndsWithParent {
		// Keep this thread until the program has ended: on Linux, the kernel kills the program when
		// the thread that started it ends.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		endWithParent(cmd)
	}
	err := cmd.Run()
	called := p.Name
	if len(args) > 0 {
		called += " " + args[0]
	}
	if out.full {
		return "", &Error{called, fmt.Sprintf("it printed more than %d MiB", maxOutput>>20), ""}
	}
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return "", &Error{called, fmt.Sprintf("it did not end within %s", timeout), fmt.Sprintf("try it yourself in %s", p.Dir)}
	}
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && ctx.Err() == nil {
		return "", &Error{called, truncate.Bytes(strings.TrimSpace(said.String()), 1000), fmt.Sprintf("try it yourself in %s", p.Dir)}
	}
	return strings.TrimSpace(out.String()), err
}

// limitedBuffer keeps at most maxOutput bytes. A Write that does not fit fails, and sets the field
// full.
type limitedBuffer struct {
	bytes.Buffer
	full bool
}

func (b *limitedBuffer) Write(p []byte) (int, error) {
	if b.Len()+len(p) > maxOutput {
		b.full = true
		return 0, errors.New("too much output")
	}
	return b.Buffer.Write(p)
}

// Ask runs a command that prints JSON values, and returns these values. A command that fetches
// several pages may print one value for each page.
func Ask[T any](ctx context.Context, p *Program, args ...string) (values []T, err error) {
	out, err := p.Run(ctx, "", args...)
	if err != nil {
		return nil, err
	}
	for d := json.NewDecoder(strings.NewReader(out)); d.More(); {
		var v T
		if err := d.Decode(&v); err != nil {
			return nil, fmt.Errorf("%s %s: its answer is not the expected JSON: %w", p.Name, args[0], err)
		}
		values = append(values, v)
	}
	return values, nil
}
