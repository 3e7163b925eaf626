// Package cli is gaffer's command line. Each command has a folder of its own, usually with the
// command's name: 'gaffer session new' is in session/new.go.
//
// A command parses its flags, calls the package that does the work, and prints the result.
package cli

import (
	"context"
	"errors"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"gaffer/internal/cli/env"
	"gaffer/internal/exit"
	"gaffer/internal/text/display"
)

// release is the version of gaffer. A release build sets it with -ldflags "-X
// gaffer/internal/cli.release=1.2.3".
var release = "0.1.0-dev"

// softMemoryLimit is the soft memory limit of a command, in bytes. Above it, the garbage
// collector runs more often. It is not a hard limit.
const softMemoryLimit = 48 << 20

// Main runs the command line of this process and returns its exit code.
func Main() int {
	if code, ok := runDirectly(os.Args[1:]); ok {
		return code
	}
	debug.SetMemoryLimit(softMemoryLimit)
	ctx, stop := interruptible(context.Background())
	defer stop()
	return Run(ctx, env.System(release), os.Args[1:])
}

// Run runs one command line in the given environment, prints its error to e.Err and returns its
// exit code.
func Run(ctx context.Context, e *env.Env, args []string) int {
	err := execute(ctx, e, args)
	if err == nil {
		return int(exit.CodeDone)
	}
	silent := false
	switch stopped := ctx.Err(); {
	case stopped != nil && err.Error() == stopped.Error():
		// A signal has ended the command, and there was no other error. Print "interrupted" only
		// with --json.
		err, silent = &exit.Error{Code: exit.CodeInterrupted, Err: errors.New("interrupted")}, true
	case stopped != nil:
		err = exit.Interrupted(err)
	}
	switch {
	case wantsJSON(args):
		exit.ReportJSON(e.Err, err)
	case !silent:
		e.Talk("%s", display.PrintableLines(exit.Text(err)))
	}
	return int(exit.Of(err))
}

// wantsJSON reports whether the arguments contain --json. It searches for the word and does not use
// the parsed flags, because --json also applies to errors of the flag parser.
func wantsJSON(args []string) bool {
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	return slices.ContainsFunc(args, func(arg string) bool {
		return arg == "--json" || strings.EqualFold(arg, "--json=true")
	})
}
