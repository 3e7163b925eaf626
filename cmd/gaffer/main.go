// Command gaffer runs, tracks and recovers fleets of coding agents.
package main

import (
	"os"

	"gaffer/internal/cli"
)

func main() { os.Exit(cli.Main()) }
