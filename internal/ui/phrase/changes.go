package phrase

import (
	"fmt"
	"strings"

	"gaffer/fleet"
	"gaffer/internal/text/display"
)

// Changes returns a line about the changes that the tasks of a run have made on their branches,
// such as "5 changes: 3 ready to merge, 1 with comments, 1 conflicts with main". If the plan tells
// gaffer to merge changes that are not merged yet, the line also contains the number of these
// changes and the command that continues the run. Changes returns "" if there are no changes.
func Changes(c fleet.Changes) string {
	if c.Total == 0 {
		return ""
	}
	branch := c.Into
	if branch == "" {
		branch = "its branch"
	}
	conflicts := "conflicts with " + branch
	if c.Conflicts > 1 {
		conflicts = strings.Replace(strings.Replace(conflicts, "conflicts", "conflict", 1), "its branch", "their branches", 1)
	}
	var parts []string
	for _, p := range []struct {
		n    int
		what string
	}{
		{c.Ready, "ready to merge"},
		{c.Commented, "with comments"},
		{c.SentBack, "sent back"},
		{c.Conflicts, conflicts},
		{c.Merged, "merged"},
		{c.Discarded, "discarded"},
		{c.Unknown, "not examined"},
	} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.what))
		}
	}
	text := Count(c.Total, "change") + ": " + strings.Join(parts, ", ")
	if c.Unlanded > 0 {
		text += fmt.Sprintf("; the plan merges %d of them, and 'gaffer resume %s' continues", c.Unlanded, c.Run)
	}
	return text
}

// Sizes returns the size of a file before and after a change, such as "1.2 kB before, 2.0 kB
// after". For an added file it returns only the new size, for a deleted file only the old size.
func Sizes(f fleet.ChangeFile) string {
	switch f.Status {
	case "added":
		return display.Bytes(f.NewSize)
	case "deleted":
		return display.Bytes(f.OldSize) + " before"
	}
	return display.Bytes(f.OldSize) + " before, " + display.Bytes(f.NewSize) + " after"
}
