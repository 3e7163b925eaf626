package logs

import (
	"slices"
	"strings"
	"time"

	"gaffer/fleet"
)

// answers finds the answers to the questions in a log. The log has only the texts of questions, so a
// question is found by its text, in the order in which the agent asked.
type answers struct {
	load  func() []fleet.QuestionRecord // returns the questions of the task, the oldest first
	began time.Time                     // start of the attempt whose log is being printed

	list []fleet.QuestionRecord // the questions that were loaded last, without those in used
	used []string               // ids of the questions whose outcome next has returned
}

// next returns the outcome of the question at the start of text, or "" if the question has no
// outcome yet. Of several questions with the same text, it takes the oldest that it has not
// returned before. It loads the questions again if the question is not among those that were loaded
// last.
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
