//go:build !linux

package verify

import "os/exec"

// awaitExit returns when the program has ended. Unlike on Linux, it also reaps the program. So when
// processGroup.end later sends a signal to the program's process id, another process may have that
// id.
func awaitExit(cmd *exec.Cmd) { _ = cmd.Wait() }
