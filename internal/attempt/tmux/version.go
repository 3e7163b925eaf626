package tmux

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
)

// The oldest version of tmux that gaffer supports. It is the first version in which the command
// new-session has the option -e, which sets a session's environment variables.
const oldestMajor, oldestMinor = 3, 2

// Available returns nil if tmux can be used. If not, it returns a [*MissingError] or an
// [*OldError].
func Available(ctx context.Context) error {
	program, err := find()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	out, err := exec.CommandContext(ctx, program, "-V").CombinedOutput()
	version := strings.TrimSpace(string(out))
	if err != nil {
		return fmt.Errorf("%s -V: %w: %s", program, err, version)
	}
	if isOld(version) {
		return &OldError{Program: program, Version: version}
	}
	return nil
}

// isOld reports whether a version such as "tmux 3.3a" or "tmux next-3.5" is too old. A version
// without digits, such as "tmux master", was built from the newest source and is not too old.
func isOld(version string) bool {
	digits := strings.IndexAny(version, "0123456789")
	if digits < 0 {
		return false
	}
	var major, minor int
	if n, _ := fmt.Sscanf(version[digits:], "%d.%d", &major, &minor); n == 0 || strings.Contains(version, "openbsd") {
		return false // cannot tell, so not too old; for example, OpenBSD's tmux prints the version of OpenBSD
	}
	return major < oldestMajor || major == oldestMajor && minor < oldestMinor
}
