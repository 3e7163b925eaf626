//go:build !linux

package verify

import "os/exec"

// awaitExit returns when the program has ended, and reaps it. So its process id could
// be reused before the group is killed.
func awaitExit(cmd *exec.Cmd) { _ = cmd.Wait() }
