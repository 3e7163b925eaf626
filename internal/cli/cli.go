// Package cli is gaffer's command line. A command's path is its place in the
// tree: 'gaffer session new' lives in session/new.go.
//
// Commands hold no rules. Each one parses its options, calls the package that
// knows, and prints the answer.
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

// release is the version, set when one is built: -ldflags "-X gaffer/internal/cli.release=1.2.3".
var release = "0.1.0-dev"

// frugal is how much memory a command may use before garbage is collected for
// that reason. It is no limit.
const frugal = 48 << 20

// Main runs gaffer as this process and gives its exit code.
func Main() int {
	if code, ok := self(os.Args[1:]); ok {
		return code
	}
	debug.SetMemoryLimit(frugal)
	ctx, stop := interruptible(context.Background())
	defer stop()
	return Run(ctx, env.System(release), os.Args[1:])
}

// Run runs one command line in any environment.
func Run(ctx context.Context, e *env.Env, args []string) int {
	err := execute(ctx, e, args)
	if err == nil {
		return int(exit.CodeDone)
	}
	silent := false
	switch stopped := ctx.Err(); {
	case stopped != nil && err.Error() == stopped.Error(): // whoever sent the signal knows it
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

// wantsJSON looks at the bare words, because a command line that does not
// parse must still be answered in the form that was asked for.
func wantsJSON(args []string) bool {
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	return slices.ContainsFunc(args, func(arg string) bool {
		return arg == "--json" || strings.EqualFold(arg, "--json=true")
	})
}
