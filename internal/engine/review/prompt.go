package review

import (
	"fmt"
	"strings"

	"gaffer/fleet"
)

// maxQuoted is how many lines of a file the prompt quotes at most for one comment.
const maxQuoted = 40

// Prompt returns the text that asks the agent to handle the user's review comments.
func Prompt(comments []fleet.Comment) string {
	var b strings.Builder
	fmt.Fprintf(&b, "The user has reviewed your change and has %s. Line numbers are those of the files as you left them.\n", count(len(comments), "comment", "comments"))
	for _, c := range comments {
		fmt.Fprintf(&b, "\n[%s] %s\n", c.ID, commentLocation(c))
		lines := strings.Split(strings.TrimSuffix(c.Lines, "\n"), "\n")
		if c.Lines == "" {
			lines = nil
		}
		for _, line := range lines[:min(len(lines), maxQuoted)] {
			b.WriteString(strings.TrimRight("> "+strings.TrimSuffix(line, "\r"), " ") + "\n")
		}
		if more := len(lines) - maxQuoted; more > 0 {
			fmt.Fprintf(&b, "> (%s)\n", count(more, "more line", "more lines"))
		}
		b.WriteString(c.Text + "\n")
	}
	ids := make([]string, len(comments))
	for i, c := range comments {
		ids[i] = c.ID
	}
	fmt.Fprintf(&b, "\nWork on every comment. Then end your last message with one line for each of them (%s), in one of these forms:\n%[2]s: fixed\n%[2]s: not fixed: the reason\n",
		strings.Join(ids, ", "), ids[0])
	return b.String()
}

// commentLocation says in words what a comment refers to: the whole change, a file, or lines of a
// file.
func commentLocation(c fleet.Comment) string {
	switch {
	case c.Path == "":
		return "the whole change"
	case c.First == 0:
		return c.Path
	}
	text := fmt.Sprintf("%s:%d", c.Path, c.First)
	if c.Last > c.First {
		text += fmt.Sprintf("-%d", c.Last)
	}
	if c.Side == fleet.OldSide {
		text += " (removed by your change; numbers are those before it)"
	}
	return text
}
