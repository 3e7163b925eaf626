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
	Command string // name of the process's program; empty if unknown
}

func (o Occupant) String() string {
	if o.Command == "" {
		return fmt.Sprintf("pid %d", o.PID)
	}
	return fmt.Sprintf("pid %d (%s)", o.PID, o.Command)
}

// inside reports whether path is the folder itself or below it.
func inside(folder, path string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(rel)
}

// parseLsof returns the processes for which lsof shows a path in the folder. out is the output of
// lsof with the option -Fpcn. The first letter of each line says what the rest of the line is: p
// for the id of a process, c for the process's name, n for the path of one of its files.
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
