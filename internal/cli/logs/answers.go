package logs

import (
	"slices"
	"strings"
	"time"

	"gaffer/fleet"
)

// answers finds the answers to the questions in a log. The log has the text of a question but not
// its id. So answers matches questions by text, in the order in which the agent asked them.
type answers struct {
	load  func() []fleet.QuestionRecord // returns the questions of the task, the oldest first
	began time.Time                     // start of the attempt whose log is being printed

	list []fleet.QuestionRecord // result of the last call of load, without the questions whose ids are in the field used
	used []string               // ids of the questions whose outcome the method next has already returned
}

// next returns the outcome of a question in the log, or "" if the question was not answered yet.
// text is the text of the question, followed by its options. If several questions have the same
// text, next takes the oldest whose outcome it has not returned yet. If it finds no answered
// question in a.list, it loads the questions again.
func (a *answers) next(text string) string {
	for try := range 2 {
		if try > 0 {
			a.list = slices.DeleteFunc(a.load(), func(q fleet.QuestionRecord) bool { return slices.Contains(a.used, q.ID) })
		}
		for i, q := range a.list {
			if !q.Asked.Before(a.began) && strings.HasPrefix(text, strings.TrimSpace(q.Text)) && q.Outcome() != "" {
				a.list, a.used = slices.Delete(a.list, i, i+1), append(a.used, q.ID)
				return q.Outcome()
			}
		}
	}
	return ""
}
