//go:build !linux

package worktree

import (
	"context"
	"fmt"
	"os/exec"
)

// processesIn returns the processes whose current folder is folder or below it. It uses the program
// lsof. lsof exits with 1 even if it only could not read some files. So exit code 1 is an error
// only if there is no output.
func processesIn(ctx context.Context, folder string) ([]Occupant, error) {
	out, err := exec.CommandContext(ctx, "lsof", "-w", "-n", "-P", "-d", "cwd", "-Fpcn").Output()
	if len(out) == 0 && err != nil {
		return nil, fmt.Errorf("find who uses %s: lsof: %w", folder, err)
	}
	return parseLsof(string(out), folder), nil
}
