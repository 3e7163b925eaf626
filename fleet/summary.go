package fleet

import "time"

// Summary is a few numbers about all runs, for example for a status line.
type Summary struct {
	Running int       `json:"running"`          // number of running tasks whose agent does not wait for an answer
	Waiting int       `json:"waiting"`          // number of unanswered questions
	Asked   time.Time `json:"asked,omitzero"`   // when the oldest unanswered question was asked; zero if none
	Oldest  string    `json:"oldest,omitempty"` // name of the oldest unanswered question
	Failed  int       `json:"failed"`           // number of failed tasks in runs that are running or ended today
	Today   Cost      `json:"today"`            // cost of the attempts that started today
	Lanes   []Lane    `json:"lanes,omitempty"`  // agent accounts that are paused now, and limits that are reached
}

// AddQuestion counts an unanswered question, and updates Asked and Oldest if it is the oldest.
func (g *Summary) AddQuestion(name string, asked time.Time) {
	if g.Waiting == 0 || asked.Before(g.Asked) {
		g.Asked, g.Oldest = asked, name
	}
	g.Waiting++
}
