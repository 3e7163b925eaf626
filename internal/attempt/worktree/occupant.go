package worktree

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// Occupant is a process whose current folder is in a worktree.
type Occupant struct {
	PID     int
	Command string // empty if unknown
}

func (o Occupant) String() string {
	if o.Command == "" {
		return fmt.Sprintf("pid %d", o.PID)
	}
	return fmt.Sprintf("pid %d (%s)", o.PID, o.Command)
}

// inside reports whether a path is the folder or below it.
func inside(folder, path string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(rel)
}

// parseLsof parses the output of lsof -Fpcn. A process has a line with p and its id, a
// line with c and its name, and lines with n and its files.
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
