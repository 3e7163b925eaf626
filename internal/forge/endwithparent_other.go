//go:build !linux

package forge

import "os/exec"

// endWithParent does nothing, because only Linux can end a program with its parent.
func endWithParent(*exec.Cmd) {}
