//go:build !linux

package worktree

import (
	"context"
	"fmt"
	"os/exec"
)

// processesIn returns the processes whose current folder is the given folder or below it. It uses
// the program lsof, which also exits with an error if it could not read some of the files. So an
// error of lsof counts only if there is no output.
func processesIn(ctx context.Context, folder string) ([]Occupant, error) {
	out, err := exec.CommandContext(ctx, "lsof", "-w", "-n", "-P", "-d", "cwd", "-Fpcn").Output()
	if len(out) == 0 && err != nil {
		return nil, fmt.Errorf("find who uses %s: lsof: %w", folder, err)
	}
	return parseLsof(string(out), folder), nil
}
