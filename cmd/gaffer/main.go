// Command gaffer runs, tracks and recovers fleets of coding agents.
package main

import (
	"context"
	"os"

	"gaffer/internal/agent/fake"
	"gaffer/internal/app"
	"gaffer/internal/cli"
	"gaffer/internal/supervisor"
)

// What gaffer starts itself, for every attempt or for many, goes past all of the
// command line.
func main() {
	args := os.Args[1:]
	switch {
	case len(args) == 2 && args[0] == "supervise":
		os.Exit(supervisor.Main(args[1:]))
	case len(args) == 1 && args[0] == "join":
		os.Exit(app.JoinMain(context.Background(), os.Stdin, os.Stdout, os.Stderr))
	case len(args) > 0 && args[0] == "fake-agent":
		os.Exit(fake.Main(args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(cli.Main())
}
