//go:build !linux

package sandbox

import (
	"fmt"
	"io"
)

// EnterMain only prints that sandboxes need Linux.
func EnterMain(_ []string, stderr io.Writer) int { return noLinux(stderr) }

// InitMain only prints that sandboxes need Linux.
func InitMain(_ []string, stderr io.Writer) int { return noLinux(stderr) }

func noLinux(stderr io.Writer) int {
	fmt.Fprintln(stderr, "gaffer: sandbox: needs Linux")
	return 1
}
