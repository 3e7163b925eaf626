//go:build !linux

package verify

import "os/exec"

// awaitExit returns when the program has ended. It is waited for at once: there
// is a moment in which its number could be somebody else's.
func awaitExit(cmd *exec.Cmd) { _ = cmd.Wait() }
