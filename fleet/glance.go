package fleet

import "time"

// Glance is what runs in a few numbers, for a person who looks at something
// else.
type Glance struct {
	Running int       `json:"running"`          // tasks, without those that wait
	Waiting int       `json:"waiting"`          // questions that nobody has answered
	Asked   time.Time `json:"asked,omitzero"`   // the oldest of them
	Oldest  string    `json:"oldest,omitempty"` // the name of that one
	Failed  int       `json:"failed"`           // tasks, in runs that run or have ended today
	Today   Cost      `json:"today"`            // of attempts that have begun today
	Lanes   []Lane    `json:"lanes,omitempty"`
}

// Ask counts a question.
func (g *Glance) Ask(name string, asked time.Time) {
	if g.Waiting == 0 || asked.Before(g.Asked) {
		g.Asked, g.Oldest = asked, name
	}
	g.Waiting++
}
