//go:build !linux

package forge

import "os/exec"

// endWithParent does nothing: only on Linux can gaffer make the kernel kill a program when gaffer
// dies.
func endWithParent(*exec.Cmd) {}
