//go:build !linux

package worktree

import (
	"context"
	"fmt"
	"os/exec"
)

// processesIn returns the processes whose current folder is in a folder. It uses the
// program lsof. Its exit code is also 1 if it could not read some files, so the code counts
// only without output.
func processesIn(ctx context.Context, folder string) ([]Occupant, error) {
	out, err := exec.CommandContext(ctx, "lsof", "-w", "-n", "-P", "-d", "cwd", "-Fpcn").Output()
	if len(out) == 0 && err != nil {
		return nil, fmt.Errorf("find who uses %s: lsof: %w", folder, err)
	}
	return parseLsof(string(out), folder), nil
}
