package worktree

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"gaffer/internal/attempt/worktree/folder"
	"gaffer/internal/git"
)

// processesIn returns the processes whose current folder is dir or below it. It leaves out git
// processes that gaffer has started, and processes that gaffer may not inspect, such as those of
// other users.
func processesIn(_ context.Context, dir string) ([]Occupant, error) {
	list, err := folder.Names("/proc")
	if err != nil {
		return nil, err
	}
	var found []Occupant
	for _, name := range list {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		// If the process's folder was deleted, the link has " (deleted)" after the folder's path.
		cwd, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
		if err != nil || !inside(dir, strings.TrimSuffix(cwd, " (deleted)")) || startedByGaffer(pid) {
			continue
		}
		command, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
		found = append(found, Occupant{PID: pid, Command: strings.TrimSpace(string(command))})
	}
	return found, nil
}

// startedByGaffer reports whether a process is a git process that gaffer has started.
func startedByGaffer(pid int) bool {
	env, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	return slices.ContainsFunc(bytes.Split(env, []byte{0}), func(v []byte) bool { return string(v) == git.Mark })
}
