package review

import (
	"strings"

	"gaffer/statefile/lazyregexp"
)

// Answer is the agent's answer to a review comment.
type Answer struct {
	Fixed bool
	Text  string // what the agent did, or why it did not do what the comment asks for
}

var (
	// answerLine matches a line that starts with the id of a comment. The id may have markup around
	// it, for example "- **[c1]**:" or "| `c1` |".
	answerLine = lazyregexp.New("(?i)^[\\s>*+|#•–—-]*(?:\\d+[.)]\\s+)?[\\s\\[(`*_\"']*(?:comment\\s+)?[\\[(`*_\"']*(c\\d+)[\\])`*_\"']*\\s*(?:[:=|.,–—-]|->|→)?[\\s`*_|:]*(.*)$")
	notFixed   = lazyregexp.New(`(?i)^(not (?:yet )?(?:fixed|done|changed|addressed|applied|resolved|needed|possible)|unfixed|unchanged|won['’]?t[ -]?fix|wontfix|will not fix|no change(?:s)?(?: needed| made)?|left (?:unchanged|as is|as it is)|declined|rejected|skipped|disagree)\b`)
	fixed      = lazyregexp.New(`(?i)^((?:is |was |has been |now )?(?:fixed|done|resolved|addressed|changed|applied|implemented))\b`)
)

// maxAnswer is the maximum length of the text of an answer, in bytes. Longer texts are cut.
const maxAnswer = 4 << 10

// Answers finds the agent's answers to review comments in the agent's last message. The keys of the
// result are the ids of the comments. Answers accepts variants of the format that [Prompt] asks
// for. If a comment has several answers, the last one counts. A line that only mentions a comment
// is not an answer.
func Answers(message string) map[string]Answer {
	answers := map[string]Answer{}
	for line := range strings.Lines(message) {
		found := answerLine().FindStringSubmatch(strings.TrimSpace(line))
		if found == nil {
			continue
		}
		id, says := strings.ToLower(found[1]), found[2]
		for _, mark := range []string{"✅", "✔️", "✔", "❌", "✗", "☑️"} {
			says = strings.TrimSpace(strings.TrimPrefix(says, mark))
		}
		a := Answer{}
		word := notFixed().FindString(says)
		if word == "" {
			if word = fixed().FindString(says); word == "" {
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
