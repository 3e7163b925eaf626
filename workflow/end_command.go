package workflow

import (
	"fmt"
	"slices"

	"gaffer/statefile/jsontree"
)

// reconcilingCommands lists the commands that bring the spec and the code into agreement. When one
// of them ends, changes that were made outside of a command are no longer untracked.
var reconcilingCommands = []Command{Evolve, Review}

// EndCommandFor ends the current command, like [EndCommand]. If the command is evolve or review,
// EndCommandFor also clears the untracked changes of the given sections. Each section is given by
// its alias or its number. If no section is given, it clears the changes of the active section. It
// returns the number of cleared changes. It returns an [*ArgumentError] if sections are given for
// any other command.
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
