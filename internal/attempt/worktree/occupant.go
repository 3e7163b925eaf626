package worktree

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// Occupant is a process that uses a worktree: its current folder is in it.
type Occupant struct {
	PID     int
	Command string // empty if it cannot be told
}

func (o Occupant) String() string {
	if o.Command == "" {
		return fmt.Sprintf("pid %d", o.PID)
	}
	return fmt.Sprintf("pid %d (%s)", o.PID, o.Command)
}

// inside tells whether a path is a folder or below it.
func inside(folder, path string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(rel)
}

// parseLsof reads the output of lsof -Fpcn: a process's id and name, each on a
// line that begins with p or c, and then the names of its files.
func parseLsof(out, folder string) []Occupant {
	var found []Occupant
	var now Occupant
	for line := range strings.Lines(out) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" {
			continue
		}
		switch value := line[1:]; line[0] {
		case 'p':
			pid, _ := strconv.Atoi(value)
			now = Occupant{PID: pid}
		case 'c':
			now.Command = value
		case 'n':
			if inside(folder, value) {
				found = append(found, now)
			}
		}
	}
	return found
}
