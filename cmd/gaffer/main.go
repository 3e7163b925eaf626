// Command gaffer runs, tracks and recovers fleets of coding agents.
package main

import (
	"os"

	"gaffer/internal/agent/fake"
	"gaffer/internal/cli"
	"gaffer/internal/supervisor"
)

// A supervisor is started for every attempt, and the fake agent for many, so
// they go past all of the command line.
func main() {
	args := os.Args[1:]
	switch {
	case len(args) == 2 && args[0] == "supervise":
		os.Exit(supervisor.Main(args[1:]))
	case len(args) > 0 && args[0] == "fake-agent":
		os.Exit(fake.Main(args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(cli.Main())
}
