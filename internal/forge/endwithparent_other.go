//go:build !linux

package forge

import "os/exec"

// endWithParent does nothing: gaffer supports it only on Linux.
func endWithParent(*exec.Cmd) {}
