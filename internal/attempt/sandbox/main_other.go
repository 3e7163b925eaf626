//go:build !linux

package sandbox

import (
	"fmt"
	"io"
)

// EnterMain is for Linux only.
func EnterMain(_ []string, stderr io.Writer) int { return noLinux(stderr) }

// InitMain is for Linux only.
func InitMain(_ []string, stderr io.Writer) int { return noLinux(stderr) }

func noLinux(stderr io.Writer) int {
	fmt.Fprintln(stderr, "gaffer: sandbox: needs Linux")
	return 1
}
