package workflow

import (
	"fmt"
	"slices"

	"gaffer/statefile/jsontree"
)

// reconcilingCommands lists the commands that bring the spec and the code into agreement. When such
// a command ends, [EndCommandFor] removes untracked changes from the state; see [UntrackedChange].
var reconcilingCommands = []Command{Evolve, Review}

// EndCommandFor ends the current command, like [EndCommand]. If the command is evolve or review,
// EndCommandFor also removes the untracked changes of the given spec sections from the state (see
// [UntrackedChange]), and returns the number of removed changes. Each section is given by its
// alias, such as "#status-line", or by its number, such as "2.9". If no section is given, the
// changes of the active section are removed. EndCommandFor returns an [*ArgumentError] if sections
// are given for any other command.
func EndCommandFor(root *jsontree.Node, sections ...string) (int, error) {
	command := Command(root.Get("currentCommand").Text())
	covers := slices.Contains(reconcilingCommands, command)
	if len(sections) > 0 && command != "" && !covers {
		return 0, &ArgumentError{
			What:    "section " + shorten(sections[0]),
			Problem: fmt.Sprintf("%s clears no untracked changes, only %s do", shorten(string(command)), joinWords(reconcilingCommands, "and")),
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
