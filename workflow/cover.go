package workflow

import (
	"fmt"
	"slices"

	"gaffer/statefile/jsontree"
)

// covering are the commands that bring the spec and the code together: what was
// written outside a command is no longer untracked after them.
var covering = []Command{Evolve, Review}

// EndCommandFor ends the command under way like [EndCommand]. Evolve and review
// also clear the untracked changes of the sections they were about, which are
// named by alias or number; without any it is the active section. It returns
// how many were cleared.
func EndCommandFor(root *jsontree.Node, sections ...string) (int, error) {
	command := Command(root.Get("currentCommand").Text())
	covers := slices.Contains(covering, command)
	if len(sections) > 0 && command != "" && !covers {
		return 0, &ArgumentError{
			What:    "section " + shorten(sections[0]),
			Problem: fmt.Sprintf("%s clears no untracked changes, only %s do", shorten(string(command)), list(covering, "and")),
		}
	}
	if err := EndCommand(root); err != nil || !covers {
		return 0, err
	}
	if len(sections) == 0 {
		sections = activeSection(root)
	}
	before := root.Get("untrackedChanges").Len()
	err := ClearUntracked(root, sections...)
	return before - root.Get("untrackedChanges").Len(), err
}

func activeSection(root *jsontree.Node) []string {
	var names []string
	for _, field := range []string{"activeSection", "activeSectionNumber"} {
		if name := root.Get(field).Text(); name != "" {
			names = append(names, name)
		}
	}
	return names
}
