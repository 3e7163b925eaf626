//go:build !linux

package verify

import "os/exec"

// awaitExit returns when the program has ended. Unlike on Linux, it also reaps the program. So the
// program's process id may belong to another process when the group is killed.
func awaitExit(cmd *exec.Cmd) { _ = cmd.Wait() }
