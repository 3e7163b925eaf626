package review

import (
	"fmt"
	"regexp"
	"strings"

	"gaffer/fleet"
)

// maxQuoted is how many lines of a file the prompt quotes at most for one comment. The agent can
// read more lines in the file itself.
const maxQuoted = 40

// Prompt returns the text that asks the agent to handle the user's comments.
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

// Answer is the agent's answer to a comment.
type Answer struct {
	Fixed bool
	Text  string // what the agent did, or why it did not do what the comment asks for
}

var (
	// answerLine matches a line that starts with the id of a comment. The id may have markup around
	// it, for example "- **[c1]**:" or "| `c1` |".
	answerLine = regexp.MustCompile("(?i)^[\\s>*+|#•–—-]*(?:\\d+[.)]\\s+)?[\\s\\[(`*_\"']*(?:comment\\s+)?[\\[(`*_\"']*(c\\d+)[\\])`*_\"']*\\s*(?:[:=|.,–—-]|->|→)?[\\s`*_|:]*(.*)$")
	notFixed   = regexp.MustCompile(`(?i)^(not (?:yet )?(?:fixed|done|changed|addressed|applied|resolved|needed|possible)|unfixed|unchanged|won['’]?t[ -]?fix|wontfix|will not fix|no change(?:s)?(?: needed| made)?|left (?:unchanged|as is|as it is)|declined|rejected|skipped|disagree)\b`)
	fixed      = regexp.MustCompile(`(?i)^((?:is |was |has been |now )?(?:fixed|done|resolved|addressed|changed|applied|implemented))\b`)
)

// maxAnswer is how many bytes of an answer's text are kept.
const maxAnswer = 4 << 10

// Answers finds the agent's answers to comments in its last message. The keys of the result are the
// ids of the comments. Answers accepts variants of the format that [Prompt] asks for. If a comment
// has several answers, the last one counts. A line that only mentions a comment is not an answer.
func Answers(message string) map[string]Answer {
	answers := map[string]Answer{}
	for line := range strings.Lines(message) {
		found := answerLine.FindStringSubmatch(strings.TrimSpace(line))
		if found == nil {
			continue
		}
		id, says := strings.ToLower(found[1]), found[2]
		for _, mark := range []string{"✅", "✔️", "✔", "❌", "✗", "☑️"} {
			says = strings.TrimSpace(strings.TrimPrefix(says, mark))
		}
		a := Answer{}
		word := notFixed.FindString(says)
		if word == "" {
			if word = fixed.FindString(says); word == "" {
				continue
			}
			a.Fixed = true
		}
		a.Text = strings.TrimSpace(strings.TrimLeft(strings.TrimRight(says[len(word):], " \t|*_`"), " \t:;,.|*_`–—-"))
		if len(a.Text) > maxAnswer {
			a.Text = strings.ToValidUTF8(a.Text[:maxAnswer], "") + "…"
		}
		answers[id] = a
	}
	return answers
}
