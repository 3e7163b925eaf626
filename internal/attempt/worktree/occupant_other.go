//go:build !linux

package worktree

import (
	"context"
	"fmt"
	"os/exec"
)

// sitters asks the system's own program. It exits with 1 if there were files
// that it could not look at, too.
func sitters(ctx context.Context, folder string) ([]Occupant, error) {
	out, err := exec.CommandContext(ctx, "lsof", "-w", "-n", "-P", "-d", "cwd", "-Fpcn").Output()
	if len(out) == 0 && err != nil {
		return nil, fmt.Errorf("find who uses %s: lsof: %w", folder, err)
	}
	return parseLsof(string(out), folder), nil
}
