package ledger

import "strings"

// taskTypes are the types of tasks. The first word of a task's prompt is its type, if it is in this
// list.
var taskTypes = []string{"build", "fix", "update", "review", "design", "implement", "add", "refactor", "test", "document"}

// taskType returns the type of the task with this prompt. If the first word of the prompt is not in
// taskTypes, the type is "other".
func taskType(prompt string) string {
	word, _, _ := strings.Cut(strings.TrimSpace(prompt), " ")
	word = strings.ToLower(strings.TrimRight(word, ":,."))
	for _, t := range taskTypes {
		if word == t {
			return t
		}
	}
	return "other"
}
