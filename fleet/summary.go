package fleet

import "time"

// Summary summarizes all runs in a few numbers, for example for a status line.
type Summary struct {
	Running int       `json:"running"`          // tasks, without those that wait for an answer
	Waiting int       `json:"waiting"`          // unanswered questions
	Asked   time.Time `json:"asked,omitzero"`   // when the oldest of these questions was asked
	Oldest  string    `json:"oldest,omitempty"` // the name of the oldest question
	Failed  int       `json:"failed"`           // tasks, in runs that are running or have ended today
	Today   Cost      `json:"today"`            // of attempts that have started today
	Lanes   []Lane    `json:"lanes,omitempty"`
}

// AddQuestion counts an unanswered question.
func (g *Summary) AddQuestion(name string, asked time.Time) {
	if g.Waiting == 0 || asked.Before(g.Asked) {
		g.Asked, g.Oldest = asked, name
	}
	g.Waiting++
}
