package fleet

import "time"

// Summary is a few numbers about all runs, or about those of one project. A status line can show
// them, for example.
type Summary struct {
	Running int       `json:"running"`          // number of running tasks whose agent does not wait for an answer
	Waiting int       `json:"waiting"`          // number of unanswered questions
	Asked   time.Time `json:"asked,omitzero"`   // when the oldest unanswered question was asked; zero if none
	Oldest  string    `json:"oldest,omitempty"` // name of the oldest unanswered question
	Failed  int       `json:"failed"`           // number of failed tasks in runs that are running or ended today
	Today   Cost      `json:"today"`            // cost of the attempts that started today
	Lanes   []Lane    `json:"lanes,omitempty"`  // paused agent accounts, and the user's cost limits that are reached
}

// AddQuestion counts an unanswered question. If the question is older than all that were counted
// before, AddQuestion stores its name in Oldest and the time at which it was asked in Asked.
func (g *Summary) AddQuestion(name string, asked time.Time) {
	if g.Waiting == 0 || asked.Before(g.Asked) {
		g.Asked, g.Oldest = asked, name
	}
	g.Waiting++
}
